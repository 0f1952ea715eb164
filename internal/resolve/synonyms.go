package resolve

// shieldConcept is the line of synonymTable that stands for nothing.
const shieldConcept = "#-"

// synonymTable is the vocabulary of plants: one concept per line, named by its
// first phrase, with English, Chinese and German in columns. A phrase may stand
// on several lines. Matching takes the longest phrase at each place, English
// and German ones by stem, so "open" covers "opens" and "opening". The line
// named "-" shields words that only look like the phrases inside them.
//
// The lines cover the whole field (process, handling, machining, buildings,
// energy, buses, vision, safety, production), not the tools of one plant.
const synonymTable = `
- | 开始, 开发, 关于, 部门, 专门, 热门, 公开, 关键, 相关, 机关, 有关, 关系, 水平, 压缩包, 停车场, 时间点, 门店

valve | 阀, 阀门, 阀位 | ventil, schieber, klappe
solenoid | 电磁 | magnetventil
gate | 闸, 闸门, 闸板 | schleuse
damper | 风门, 挡板, 风阀
pump | 泵, 水泵 | pumpe, pumpen
compressor | 压缩机, 空压机, 压气机 | kompressor, verdichter
fan, blower, ventilator | 风机, 风扇, 鼓风机 | lüfter, gebläse
motor, drive | 电机, 马达, 电动机, 驱动 | antrieb
frequency converter, frequency inverter, variable frequency drive, variable speed drive, vfd, vsd, inverter | 变频器, 变频, 逆变器 | frequenzumrichter, umrichter
servo | 伺服
spindle | 主轴 | spindel
gearbox, gear | 齿轮箱, 减速机, 齿轮 | getriebe
bearing | 轴承 | lager
axis, axes | 轴 | achse, achsen
belt | 皮带, 传送带, 输送带, 带子 | gurt, riemen
conveyor | 输送带, 输送机, 传送带, 传送机, 输送线, 皮带机 | förderband, förderer
roller | 辊, 滚筒, 辊道 | rolle
hoist, crane | 起重机, 吊车, 行车, 葫芦, 天车 | kran
lift, elevator | 电梯, 升降机, 升降台 | aufzug
stacker, palletizer, palletiser | 堆垛机, 码垛
cart, agv, amr, guided vehicle, shuttle, forklift | 小车, 搬运车, 搬运小车, 穿梭车, 叉车 | stapler
robot, manipulator | 机器人, 机械臂, 机械手 | roboter
gripper, clamp | 夹爪, 抓手, 夹具, 手爪 | greifer
cylinder | 气缸, 油缸, 缸 | zylinder
tank, vessel, container | 罐, 储罐, 水箱, 油箱, 容器, 水池 | behälter, tank
silo, hopper, bunker | 料仓, 料斗, 筒仓
pipe, pipeline, line | 管道, 管路, 管线, 管网 | leitung, rohr
filter, strainer | 过滤器, 滤网, 滤芯
heater, heating | 加热, 加热器, 升温, 供暖, 采暖 | heizung
boiler | 锅炉 | kessel
furnace, oven, kiln | 炉, 烘箱, 烤箱, 窑, 烤炉 | ofen
cooling, coolant, cooler, chiller | 冷却, 冷却液, 冷水机, 制冷, 冷却水 | kühlung, kühlmittel
heat exchanger | 换热器 | wärmetauscher
mixer, agitator, stirrer | 搅拌, 搅拌机, 搅拌器, 混合 | rührwerk, mischer
reactor | 反应釜, 反应器
centrifuge | 离心机
nozzle | 喷嘴, 喷头 | düse
door, gate | 门, 车门, 大门, 房门 | tür, tor
window | 窗, 窗户 | fenster
barrier, boom gate | 道闸, 栏杆 | schranke
lock | 锁, 门锁, 上锁, 锁定 | verriegeln
unlock | 解锁, 开锁 | entriegeln
light, lamp, lighting | 灯, 照明, 灯光, 灯具 | licht, beleuchtung
signal tower, stack light, tower light, andon, beacon | 信号灯, 塔灯, 警示灯, 三色灯, 指示灯 | signalleuchte
siren, horn, buzzer | 蜂鸣器, 警笛, 喇叭 | hupe
display, screen, panel | 显示屏, 屏幕, 触摸屏, 面板
button, push button | 按钮, 按键 | taster
switch | 开关, 切换 | schalter
relay | 继电器 | relais
contactor | 接触器 | schütz
circuit breaker, breaker | 断路器, 空开 | leistungsschalter
transformer | 变压器, 变电 | transformator
generator, genset | 发电机
battery, accumulator | 电池, 蓄电池 | batterie
charger, charging, charge | 充电, 充电桩 | laden
solar, photovoltaic, pv | 光伏, 太阳能
ups, uninterruptible power supply | 不间断电源
sensor, transmitter, probe, transducer | 传感器, 变送器, 探头, 感应器 | fühler
encoder | 编码器 | drehgeber
meter | 表, 仪表, 计量 | zähler, messgerät
electricity meter, power meter, energy meter | 电表, 电能表, 电力仪表 | stromzähler
scale, weighing, load cell | 秤, 称重, 地磅 | waage
camera | 摄像头, 摄像机, 相机, 监控 | kamera
camera ptz, pan tilt, ptz | 云台
preset | 预置位, 预设, 预置点
picture, photo, image, snapshot, still | 照片, 图片, 图像, 拍照, 抓拍, 截图, 快照, 拍摄, 拍 | bild, foto
video, stream | 视频, 视频流, 码流, 录像, 直播, 画面
recording, record video | 录制, 录像, 录音 | aufzeichnung
scanner, scan | 扫描, 扫码, 扫码枪, 读码
barcode, bar code, qr code | 条码, 条形码, 二维码
label, tag | 标签, 贴标 | etikett
printer, print | 打印, 打印机, 打标 | drucker, drucken
laser | 激光
light curtain | 光幕, 安全光栅 | lichtgitter
photoelectric, photo eye, light barrier | 光电 | lichtschranke
proximity | 接近开关
limit switch | 限位, 行程开关, 限位开关 | endschalter

open | 打开, 开启, 开到, 拉开, 张开, 松开, 开 | öffnen, offen, auf
close, shut | 关闭, 关上, 合上, 闭合, 夹紧, 关 | schließen, schliessen, zu
release, loosen, unclamp | 松开, 释放, 放开, 松 | lösen
grip, clamp, grasp | 夹紧, 抓取, 夹住, 夹, 抓 | greifen
start, turn on, switch on, power on, launch, activate, run | 启动, 开动, 打开, 开启, 开机, 运行, 运转, 投运, 开 | starten, einschalten, anfahren
stop, turn off, switch off, power off, shut down, shutdown, shut off, halt, deactivate | 停止, 停, 停机, 停下, 关闭, 关掉, 关停, 停车 | stoppen, anhalten, ausschalten, abschalten
emergency stop, e stop, estop | 急停, 紧急停止, 紧急停车 | not aus, not halt
pause, hold, suspend | 暂停, 保持
resume, continue | 恢复, 继续
restart, reboot | 重启, 重新启动 | neustart
reset, clear | 复位, 重置, 清除, 清零 | zurücksetzen, quittieren
acknowledge, confirm, ack | 确认, 应答, 认领 | quittieren, bestätigen
set, adjust, change, modify, tune | 设置, 设定, 调整, 调节, 调到, 调, 修改, 改成, 改为 | setzen, einstellen, ändern, verstellen
setpoint, set point, target | 设定值, 目标值, 给定值 | sollwert
increase, raise, higher | 增加, 提高, 升高, 加大, 调高, 增大 | erhöhen
decrease, reduce, lower | 减少, 降低, 减小, 调低, 下降 | verringern, senken
read, get, query, show, check, view | 读, 读取, 查询, 查看, 获取, 看, 检查, 显示 | lesen, abfragen, anzeigen
write | 写, 写入 | schreiben
list | 列出, 列表, 清单, 有哪些 | auflisten
send, transmit | 发送, 发, 下发, 传送 | senden
receive | 接收, 收到 | empfangen
load, download, deploy | 加载, 装载, 下发, 下载, 载入 | laden
upload, report | 上报, 上传, 报告, 汇报 | melden
install, update, upgrade, flash | 升级, 更新, 安装, 刷写, 刷新 | aktualisieren
record, register, add, create, log, enter | 登记, 记录, 添加, 新增, 录入, 创建, 填写 | erfassen, anlegen
delete, remove | 删除, 移除, 去掉 | löschen
search, find, discover, locate | 搜索, 查找, 发现, 寻找, 定位 | suchen, finden
move, travel, go to, goto | 移动, 运动, 走到, 移到, 转到, 前往 | bewegen, fahren
rotate, turn | 旋转, 转动, 转向 | drehen
home, homing, reference | 回零, 回原点, 原点, 参考点, 归零 | referenzieren
jog, inch | 点动
feed, supply | 进给, 给料, 喂料, 送料, 供给, 供料
load part, pick, pickup, pick up | 取料, 上料, 拾取, 抓料
unload, place, drop | 下料, 卸料, 放料, 放置
transport, dispatch, carry, deliver | 搬运, 运输, 派送, 调度, 派, 送到 | transportieren
fill, filling | 填充, 灌装, 注水, 加注, 加水 | füllen, befüllen
drain, empty, discharge | 排空, 排放, 排水, 放空 | leeren, entleeren
clean, flush, wash | 清洗, 清洁, 冲洗, 清扫, 反冲洗 | reinigen, spülen
clear jam, jam, blockage, blocked, clog, stuck | 卡料, 堵料, 堵塞, 卡住, 卡死, 堵住, 卡, 堵, 阻塞 | stau, blockiert
tighten, tension | 张紧, 张力, 拉紧, 绷紧, 松紧 | spannung, spannen
calibrate, calibration, zero | 校准, 标定, 校正 | kalibrieren
inspect, inspection, detect, detection | 检测, 检验, 质检, 检出, 识别 | prüfen
measure, measurement | 测量, 量测 | messen
test, try | 测试, 试验, 试运行
verify, validate | 校验, 验证, 核对
monitor, watch | 监视, 监测, 监控 | überwachen
compare | 比较, 对比 | vergleichen
trigger | 触发 | auslösen
enable | 启用, 使能 | freigeben
disable, bypass | 禁用, 屏蔽, 旁路 | sperren
schedule, plan | 计划, 排产, 排程, 日程
assign, allocate | 分配, 指派
select, choose | 选择, 选用 | auswählen
export | 导出
import | 导入
backup, back up | 备份
login, sign in | 登录

inlet, intake, suction | 进口, 入口, 进水, 吸入 | einlass, zulauf
outlet, discharge, delivery | 出口, 排出, 出水 | auslass, ablauf
upstream | 上游
downstream | 下游
left | 左, 左侧
right | 右, 右侧 | rechts
up, upward | 上升, 向上, 升起, 升 | hoch
down, downward | 下降, 向下, 降下, 降 | runter
forward | 正转, 前进, 向前, 正向 | vorwärts
reverse, backward | 反转, 后退, 倒退, 反向 | rückwärts
main | 主, 总 | haupt
standby, spare, reserve | 备用, 待机
front | 前, 前面 | vorne
rear, back | 后, 后面 | hinten
floor, storey | 楼层, 层 | etage, stockwerk
room | 房间, 室 | raum
workshop, plant, factory, shop floor | 车间, 工厂, 厂房, 现场 | werk, halle
line, production line | 产线, 生产线, 流水线 | linie
zone, area | 区, 区域, 分区 | bereich
station, workstation, workplace, cell | 工位, 站, 工作站, 单元 | arbeitsplatz
pumping station, pump station | 泵站 | pumpwerk
water | 水 | wasser
waste water, wastewater, sewage | 污水, 废水 | abwasser
oil | 油, 润滑油 | öl
hydraulic | 液压, 油压 | hydraulik
pneumatic, compressed air | 气动, 压缩空气, 气源 | druckluft
air | 空气, 气 | luft
air conditioning, air conditioner, hvac | 空调, 暖通 | klimaanlage
ventilation | 通风, 新风, 排风 | lüftung
steam | 蒸汽, 水蒸气 | dampf
gas | 燃气, 气体, 天然气
vacuum | 真空 | vakuum
material | 物料, 材料, 原料, 料

level, fill level, liquid level, water level | 液位, 水位, 料位, 油位, 液面 | füllstand, pegel, niveau
flow, flow rate, throughput | 流量, 流速 | durchfluss
temperature, temp | 温度, 气温, 水温, 油温, 多少度 | temperatur
pressure | 压力, 气压, 水压, 压强 | druck
differential pressure | 压差, 差压 | differenzdruck
humidity, moisture | 湿度, 潮湿, 含水 | feuchte, feuchtigkeit
vibration | 振动, 震动 | schwingung
speed, velocity, rpm | 速度, 转速, 车速, 快慢 | drehzahl, geschwindigkeit
acceleration | 加速度, 加速 | beschleunigung
position | 位置, 位姿, 坐标, 点位, 到位 | stellung
opening, degree of opening | 开度 | öffnungsgrad
angle | 角度 | winkel
distance | 距离 | abstand
torque | 扭矩, 转矩, 力矩 | drehmoment
force | 力, 压紧力, 夹紧力 | kraft
weight, mass | 重量, 质量 | gewicht
thickness | 厚度 | dicke
length | 长度 | länge
height | 高度 | höhe
frequency, hertz, hz | 频率, 赫兹 | frequenz
voltage | 电压 | spannung
current | 电流, 安培 | strom
power | 功率, 电力 | leistung
energy, consumption | 能耗, 电能, 用电, 用电量, 耗电, 电量, 能源 | energie, verbrauch
power supply | 电源, 供电 | stromversorgung
resistance | 电阻 | widerstand
brightness | 亮度 | helligkeit
colour, color | 颜色, 红色, 绿色, 黄色 | farbe
red | 红, 红色 | rot
green | 绿, 绿色 | grün
yellow, amber | 黄, 黄色 | gelb
noise, sound | 噪声, 声音 | lärm
volume | 体积, 音量 | volumen
density | 密度 | dichte
viscosity | 粘度, 黏度
concentration | 浓度 | konzentration
turbidity | 浊度 | trübung
conductivity | 电导率 | leitfähigkeit
ph value, acidity | 酸碱度, 酸度
oxygen | 氧, 含氧量, 溶解氧 | sauerstoff
carbon dioxide, co2 | 二氧化碳
dust, particulate | 粉尘, 灰尘, 颗粒 | staub
smoke | 烟, 烟雾, 烟感 | rauch
fire | 火, 火灾, 消防 | feuer
leak, leakage | 泄漏, 漏水, 漏 | leck
count, number, quantity, amount | 数量, 计数, 个数, 件数 | anzahl, menge
percent, percentage, % | 百分, 百分之, 百分比 | prozent
degree, ° | 度 | grad
runtime, operating hours, running hours | 运行时间, 运行小时 | betriebsstunden
time | 时间 | zeit
limit, threshold | 阈值, 限值, 上限, 下限, 界限, 极限 | grenzwert
range | 范围, 量程
value, reading | 数值, 值, 读数, 示数 | wert
status, state, condition | 状态, 状况, 情况 | zustand
fault, error, failure, trip | 故障, 错误, 失败, 跳闸, 异常 | störung, fehler
fault code, error code | 故障码, 故障代码 | fehlercode
alarm, alert, warning | 报警, 警报, 告警, 警告 | warnung
severity, priority | 级别, 等级, 优先级
history, trend, historical | 历史, 趋势, 记录 | verlauf
online | 在线
offline | 离线, 掉线
mode | 模式, 方式 | modus, betriebsart
manual | 手动, 人工
automatic, auto | 自动
local | 就地, 本地 | vor ort
remote | 远程, 远方, 遥控 | fern
safety, safe | 安全 | sicherheit
interlock | 联锁, 互锁, 连锁 | verriegelung
guard, fence | 护栏, 围栏, 防护
permission, role | 权限, 角色
operator, operator staff | 操作员, 操作人, 人员 | bediener
technician, maintenance staff | 技术员, 维修工, 维修人员 | techniker

controller, plc | 控制器, 可编程控制器 | steuerung
device, equipment, machine, unit | 设备, 装置, 机器, 机台 | gerät, anlage
machine tool, cnc, machining centre, machining center | 机床, 数控, 加工中心 | werkzeugmaschine
machining, process | 加工, 处理 | bearbeitung
tool, cutter | 刀具, 刀, 换刀, 工具 | werkzeug
tool change, change tool | 换刀, 刀具更换 | werkzeugwechsel
part, workpiece, component | 零件, 工件, 部件, 件 | werkstück, teil
product | 产品, 成品 | produkt
program, programme | 程序 | programm
recipe, formula | 配方 | rezept
batch, lot | 批次, 批量, 批
order, job | 订单 | auftrag
work order, job order, production order | 工单, 生产订单, 任务单 | fertigungsauftrag
output, production, produced, finished | 产量, 完工, 产出, 生产 | produktion
scrap, reject, rejected | 废品, 不良, 不良品, 次品, 报废 | ausschuss
defect, flaw, scratch | 缺陷, 瑕疵, 划痕, 不良 | defekt
quality | 质量, 品质, 合格 | qualität
surface | 表面 | oberfläche
stock, inventory, warehouse | 库存, 仓库, 料库 | bestand
shift | 班次, 班组, 交接班 | schicht
maintenance, service, repair | 维护, 维修, 保养, 检修, 修理, 点检 | wartung, reparatur, instandhaltung
lubricate, lubrication, grease | 润滑, 加油 | schmieren
replace, replacement, exchange | 更换, 替换, 换 | austauschen, wechseln
firmware | 固件
software | 软件
parameter | 参数
configuration, config | 配置, 组态 | konfiguration
address | 地址 | adresse
network | 网络, 联网 | netzwerk
bus, fieldbus | 总线, 现场总线
frame, message, telegram, packet | 帧, 报文, 消息, 数据包 | telegramm
register, holding register | 寄存器, 保持寄存器
coil | 线圈
slave, slave device, server device | 从站, 从机, 从设备
master | 主站, 主机
interface, port | 接口, 端口 | schnittstelle
signal | 信号
input | 输入 | eingang
output | 输出 | ausgang
channel | 通道 | kanal
data | 数据 | daten
file | 文件 | datei
log, event log | 日志 | protokoll
name | 名称, 名字
`

package registerlist

// column is what a column of the list says about its points.
type column int

const (
	colTag column = iota
	colDescription
	colAddress
	colType
	colScale
	colDivisor
	colGain
	colDecimals
	colOffset
	colUnit
	colAccess
	colFunction
	colTable
	colOrder
	colUnitID
	colLength
	colBit
	columns // how many there are
)

// headings are the names of columns, lower case and without punctuation, the usual ones first. Where two columns of a list are
// known by one of them, the one named earlier here is taken.
func headings() [columns][]string {
	return [columns][]string{
		colTag: {"tag", "tag name", "tagname", "tag no", "tag number", "point name", "point", "variable name", "variable", "signal name", "signal", "symbol", "name",
			"register name", "parameter name", "parameter", "data point", "datapoint", "item", "measurement", "quantity name", "label", "id name", "mnemonic", "object",
			"bezeichnung", "kennzeichen", "kks", "akz", "messstelle", "messstellenbezeichnung", "variablenname", "signalname", "datenpunkt", "datenpunktname", "messwert",
			"parametername", "registername", "benennung", "anlagenkennzeichen",
			"标签", "标签名", "标签名称", "变量名", "变量名称", "变量", "点名", "点名称", "测点", "测点名", "测点名称", "位号", "信号名", "信号名称", "名称", "参数名", "参数名称", "参数", "寄存器名称", "数据名称", "项目"},
		colDescription: {"description", "meaning", "function description", "signal description", "register description", "definition", "text", "comment", "comments", "remark", "remarks", "note", "notes",
			"beschreibung", "bedeutung", "klartext", "erläuterung", "erlaeuterung", "funktionstext", "kommentar", "bemerkung", "bemerkungen", "anmerkung", "hinweis",
			"描述", "说明", "含义", "定义", "内容", "注释", "备注", "中文描述", "信号描述", "变量描述", "寄存器说明"},
		colAddress: {"modbus address", "register address", "address", "modbus register", "register", "register no", "register number", "reg address", "reg addr", "reg no", "reg", "addr", "start address", "start register",
			"starting address", "data address", "modbus reg", "modbus addr", "protocol address", "pdu address", "modicon address", "plc address", "register s", "registers address", "offset address", "adr", "first register", "start", "start reg", "start addr", "begin",
			"adresse", "registeradresse", "register adresse", "modbusadresse", "modbus adresse", "startadresse", "startregister", "registernummer", "register nr", "modbusregister", "datenadresse", "reg adresse", "anfang", "anfangsadresse",
			"寄存器地址", "地址", "modbus地址", "modbus寄存器", "寄存器", "寄存器编号", "寄存器号", "起始地址", "数据地址", "通讯地址", "通信地址", "点地址", "plc地址", "首地址", "起始", "起始寄存器"},
		colType: {"data type", "datatype", "type", "format", "data format", "dataformat", "value type", "variable type", "representation", "encoding", "number format",
			"datentyp", "typ", "datenformat", "zahlenformat", "formattyp", "variablentyp",
			"数据类型", "类型", "数据格式", "格式", "变量类型", "数值类型", "数据型"},
		colScale: {"scale", "scale factor", "scaling", "scaling factor", "scalefactor", "factor", "multiplier", "mult", "multiply", "coefficient", "resolution", "slope", "lsb", "conversion", "conversion factor", "data scale", "exponent", "power of ten", "scale exponent",
			"skalierung", "skalierungsfaktor", "skalenfaktor", "faktor", "multiplikator", "auflösung", "aufloesung", "umrechnung", "umrechnungsfaktor", "wertigkeit", "zehnerpotenz",
			"系数", "比例", "比例系数", "倍率", "倍数", "缩放", "缩放系数", "缩放因子", "换算系数", "变比", "分辨率", "精度", "比例因子", "乘数", "指数"},
		colDivisor: {"divisor", "divider", "divide by", "div", "divisor factor", "teiler", "divisor teiler", "除数", "除以"},
		colGain:    {"gain", "增益"},
		colDecimals: {"decimals", "decimal places", "decimal", "decimal point", "number of decimals", "precision", "nachkommastellen", "kommastellen", "dezimalstellen", "dezimalen",
			"小数位", "小数位数", "小数点", "小数点位数", "小数"},
		colOffset: {"offset", "value offset", "zero offset", "bias", "intercept", "versatz", "nullpunkt", "wertoffset", "偏移", "偏移量", "偏置", "零点"},
		colUnit: {"unit", "units", "engineering unit", "engineering units", "eng unit", "eng units", "eu", "unit of measure", "uom", "measuring unit", "physical unit", "dimension",
			"einheit", "einheiten", "masseinheit", "maßeinheit", "phys einheit", "physikalische einheit", "dim",
			"单位", "工程单位", "计量单位", "量纲"},
		colAccess: {"access", "r w", "rw", "read write", "r w access", "access type", "access right", "access rights", "access mode", "attribute", "permission", "permissions", "direction", "read only", "r o", "readwrite", "r w type", "properties",
			"zugriff", "zugriffsart", "zugriffsrecht", "lesen schreiben", "l s", "r s", "lese schreib", "richtung",
			"读写", "读写属性", "读写权限", "权限", "访问", "访问权限", "访问类型", "读写类型", "操作", "属性", "可读写", "读 写"},
		colFunction: {"function code", "function codes", "function", "fc", "modbus function", "modbus function code", "fcode", "f code", "func", "func code", "read function", "read function code", "fn", "read fc", "command",
			"funktionscode", "funktion", "fkt", "fkt code", "funktionskode", "modbus funktion", "modbusfunktion", "lesefunktion",
			"功能码", "功能", "功能代码", "读功能码", "modbus功能码", "命令码"},
		colTable: {"register type", "table", "object type", "memory type", "area", "data area", "memory area", "modbus type", "register class", "register group", "register table", "storage", "modbus table", "primary table",
			"registertyp", "registerart", "tabelle", "objekttyp", "bereich", "speicherbereich", "registerklasse", "modbustyp",
			"寄存器类型", "寄存器种类", "区", "存储区", "数据区", "寄存器区", "区域", "对象类型"},
		colOrder: {"word order", "byte order", "byteorder", "wordorder", "endianness", "endian", "byte word order", "word byte order", "swap", "swapped", "register order", "byte sequence", "word sequence",
			"wortreihenfolge", "bytereihenfolge", "byte reihenfolge", "wort reihenfolge", "reihenfolge", "registerreihenfolge", "byteorder wordorder",
			"字序", "字节序", "字节顺序", "字顺序", "大小端", "字节序列", "高低字节", "字节次序", "解码顺序"},
		colUnitID: {"unit id", "slave id", "slave", "slave address", "unit identifier", "device id", "device address", "station", "station address", "modbus id", "node", "node id", "unitid", "slaveid", "server id", "modbus slave", "slave no", "unit address", "modbus slave id", "modbus slave address",
			"slave adresse", "slaveadresse", "geräteadresse", "geraeteadresse", "stationsadresse", "stationsnummer", "teilnehmer", "teilnehmeradresse", "busadresse", "geräte id",
			"从站", "从站地址", "从站号", "从机地址", "从机号", "站号", "站地址", "设备地址", "单元号", "单元标识", "设备id", "从站id"},
		colLength: {"length", "size", "number of registers", "no of registers", "register count", "count", "quantity", "words", "word count", "reg count", "registers", "num registers", "no of words", "number of words", "len", "data length", "qty", "nr of registers", "amount",
			"länge", "laenge", "anzahl", "anzahl register", "registeranzahl", "anzahl der register", "größe", "groesse", "wortanzahl", "anzahl worte", "datenlänge", "anz reg",
			"长度", "寄存器数量", "寄存器个数", "数量", "个数", "数据长度", "字数", "寄存器数", "寄存器长度", "字节数"},
		colBit: {"bit", "bit no", "bit number", "bit position", "bit pos", "bit index", "bitnummer", "bit nr", "bitposition", "位", "位序", "位置", "bit位", "位偏移"},
	}
}

// tableWords name the tables in cells and in rows that stand for those below them.
func tableWords() map[string]string {
	words := map[string]string{}
	for table, names := range map[string][]string{
		coil: {"coil", "coils", "output coil", "output coils", "discrete output", "discrete outputs", "digital output", "digital outputs", "do", "co", "0x", "0xxxx", "0xxxxx", "coil status", "spule", "spulen",
			"digitalausgang", "digitalausgänge", "digitale ausgänge", "线圈", "线圈状态", "输出线圈", "线圈寄存器", "开关量输出", "数字量输出", "离散输出"},
		discreteInput: {"discrete input", "discrete inputs", "discrete", "input status", "digital input", "digital inputs", "input contact", "input contacts", "di", "1x", "1xxxx", "1xxxxx", "input bit", "input bits",
			"digitaleingang", "digitaleingänge", "digitale eingänge", "diskreter eingang", "diskrete eingänge", "离散输入", "离散量输入", "输入状态", "开关量输入", "数字量输入", "触点", "离散输入寄存器"},
		inputRegister: {"input register", "input registers", "input", "input reg", "ir", "3x", "3xxxx", "3xxxxx", "inputregister", "analog input", "analog inputs", "analogue input", "ai", "input word", "read input register", "read input registers",
			"eingangsregister", "eingaberegister", "analogeingang", "analogeingänge", "输入寄存器", "模拟量输入"},
		holdingRegister: {"holding register", "holding registers", "holding", "holding reg", "hr", "4x", "4xxxx", "4xxxxx", "holdingregister", "analog output", "analog outputs", "analogue output", "ao", "output register", "output registers", "read holding register",
			"read holding registers", "halteregister", "ausgangsregister", "analogausgang", "analogausgänge", "保持寄存器", "保持型寄存器", "模拟量输出"},
	} {
		for _, n := range names {
			words[n] = table
		}
	}
	return words
}

"""pymodbus as a client of the demo plant, for what mbpoll has not: functions 22, 23 and 43/14, illegal requests, several clients at once.

usage: client.py HOST PORT SERIAL; prints a line for each check, exits 1 if one failed.
"""

import struct
import sys
import time

from pymodbus.client import ModbusSerialClient, ModbusTcpClient
from pymodbus.mei_message import ReadDeviceInformationRequest
from pymodbus.pdu import ExceptionResponse
from pymodbus.register_read_message import ReadHoldingRegistersRequest
from pymodbus.register_write_message import WriteMultipleRegistersRequest

PLC, VFD, METER, RELAYS = 1, 11, 21, 31
ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE, NO_TARGET = 1, 2, 3, 11
SETPOINT, LEVEL_SETPOINT, TOKEN, WATCHDOG = 100, 110, 120, 121

host, port, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
client = ModbusTcpClient(host, port=port, timeout=5)
line = ModbusSerialClient(device, baudrate=19200, parity="N", timeout=2)
failed = 0


def check(promise, test):
    global failed
    try:
        got = test()
        problem = None if got is True else f"got {got}"
    except Exception as e:  # pymodbus raises what it likes
        problem = f"{type(e).__name__}: {e}"
    print(f"{'FAIL ' if problem else 'ok   '} {promise}" + (f"\n      {problem}" if problem else ""))
    failed += problem is not None


def same(got, want):
    return True if got == want else got


def both(first, second):
    return first if first is not True else second()


def registers(reply):
    return reply.registers if not reply.isError() else reply


def exception(reply, code):
    return True if isinstance(reply, ExceptionResponse) and reply.exception_code == code else reply


def holding(address, count=1, unit=PLC):
    return registers(client.read_holding_registers(address, count, slave=unit))


def level():
    low, high = registers(client.read_input_registers(10, 2, slave=PLC))
    value = struct.unpack(">f", struct.pack(">HH", high, low))[0]
    return 2 < value < 2.6 or value


def volts():
    high, low = registers(line.read_input_registers(4, 2, slave=METER))
    value = struct.unpack(">f", struct.pack(">HH", high, low))[0]
    return 390 < value < 410 or value


def identity(wire, unit, code, first=0):
    reply = wire.execute(ReadDeviceInformationRequest(read_code=code, object_id=first, unit=unit))
    return reply.information if not reply.isError() else reply


def until(test, seconds=10):
    end = time.monotonic() + seconds
    while (got := test()) is not True and time.monotonic() < end:
        time.sleep(0.05)
    return got


def mask(and_mask, or_mask):
    reply = client.mask_write_register(TOKEN, and_mask, or_mask, unit=PLC)
    return reply if reply.isError() else same((reply.address, reply.and_mask, reply.or_mask), (TOKEN, and_mask, or_mask))


def exchange(read, count, write, values):
    reply = client.readwrite_registers(read_address=read, read_count=count, write_address=write, write_registers=values, unit=PLC)
    return registers(reply)


def many_clients():
    """Several connections take turns, and each gets the answers to its own questions."""
    others = [ModbusTcpClient(host, port=port, timeout=5) for _ in range(10)]
    try:
        for turn in range(5):
            for n, other in enumerate(others):
                address, want = ((SETPOINT, 450), (LEVEL_SETPOINT, 0))[(n + turn) % 2]
                got = registers(other.read_holding_registers(address, 1, slave=PLC))
                if got != [want]:
                    return n, turn, got
    finally:
        for other in others:
            other.close()
    return True


def refuses(request, code):
    """Sends a request that pymodbus's own methods would not check."""
    request.unit_id = PLC
    return exception(client.execute(request), code)


def short_write():
    request = WriteMultipleRegistersRequest(SETPOINT, [1, 2])
    request.count = 3  # announces more than it carries
    return refuses(request, ILLEGAL_VALUE)


check("the level is a float, low word first", level)
check("the setpoint is 45 %", lambda: same(holding(SETPOINT), [450]))
check("bits: the inlet valve's limit switches", lambda: same(client.read_discrete_inputs(0, 4, slave=PLC).bits[:4], [False, True, False, False]))
check("ten more clients at once", many_clients)

check("function 22 sets bits by mask", lambda: mask(0xFFF0, 0x0005))
check("and reads back", lambda: same(holding(TOKEN), [5]))
check("the formula of function 22: and, or within the cleared bits", lambda: both(mask(0x00F2, 0x0025), lambda: same(holding(TOKEN), [5 & 0xF2 | 0x25 & ~0xF2])))
check("function 23 writes first and reads then", lambda: same(exchange(TOKEN, 2, TOKEN, [77, 0]), [77, 0]))
check("function 23: a read that does not exist writes nothing",
      lambda: both(exception(exchange(300, 1, TOKEN, [78]), ILLEGAL_ADDRESS), lambda: same(holding(TOKEN), [77])))
check("function 16 writes the setpoint", lambda: not client.write_registers(SETPOINT, [300], slave=PLC).isError())
check("and the valve moves there", lambda: until(lambda: abs(registers(client.read_input_registers(14, 1, slave=PLC))[0] - 300) <= 10))

check("function 43/14: basic identification", lambda: same(identity(client, PLC, 1), {0: b"capd demo plant", 1: b"PS07-PLC-01", 2: b"1.0"}))
check("function 43/14: one object", lambda: same(identity(client, PLC, 4, 1), {1: b"PS07-PLC-01"}))
check("function 43/14: an object that does not exist",
      lambda: exception(client.execute(ReadDeviceInformationRequest(read_code=4, object_id=9, unit=PLC)), ILLEGAL_ADDRESS))

check("an unknown function is illegal", lambda: exception(client.read_exception_status(slave=PLC), ILLEGAL_FUNCTION))
check("no register is an illegal quantity", lambda: refuses(ReadHoldingRegistersRequest(SETPOINT, 0), ILLEGAL_VALUE))
check("126 registers are an illegal quantity", lambda: refuses(ReadHoldingRegistersRequest(SETPOINT, 126), ILLEGAL_VALUE))
check("a byte count that contradicts the quantity is illegal", short_write)
check("an input register cannot be reached as a holding register", lambda: exception(client.read_holding_registers(14, 1, slave=PLC), ILLEGAL_ADDRESS))
check("a unit that does not exist", lambda: exception(client.read_holding_registers(0, 1, slave=200), NO_TARGET))
check("after all that, the next answer is right", lambda: same(holding(TOKEN), [77]))
client.close()

check("serial: the meter shows 400 V, high word first", volts)
check("serial: function 43/14 of the meter", lambda: same(identity(line, METER, 1), {0: b"capd demo plant", 1: b"PS07-PM-08", 2: b"1.0"}))
check("serial: the drive refuses a speed above its limit", lambda: exception(line.write_register(1, 5001, slave=VFD), ILLEGAL_VALUE))
check("serial: the drive takes a speed", lambda: both(not line.write_register(1, 3000, slave=VFD).isError(), lambda: same(registers(line.read_holding_registers(1, 1, slave=VFD)), [3000])))
check("serial: the relays refuse any block but of eight", lambda: exception(line.read_coils(0, 7, slave=RELAYS), ILLEGAL_ADDRESS))
check("serial: coils written as a block", lambda: not line.write_coils(0, [True, True], slave=RELAYS).isError())
check("serial: and both contacts close", lambda: until(lambda: same(line.read_discrete_inputs(0, 8, slave=RELAYS).bits, [True, True] + 6 * [False])))
line.close()
sys.exit(failed > 0)

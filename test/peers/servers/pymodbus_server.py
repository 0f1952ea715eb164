"""pymodbus as a server with the content of image.json.

usage: pymodbus_server.py IMAGE tcp PORT    or    IMAGE serial DEVICE BAUD
"""

import asyncio
import json
import sys

from pymodbus.datastore import ModbusServerContext, ModbusSlaveContext, ModbusSparseDataBlock
from pymodbus.server import StartAsyncSerialServer, StartAsyncTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer

with open(sys.argv[1], encoding="utf-8") as file:
    image = json.load(file)


def block(name, kind=ModbusSparseDataBlock):
    return kind({int(address): value for address, value in image[name].items()})


class Inputs(ModbusSparseDataBlock):
    def count(self):
        self.values[image["writes"]] += 1


inputs, discretes = block("input", Inputs), block("discrete")


class Holding(ModbusSparseDataBlock):
    """Holding registers that the machine behind follows, or not."""

    def validate(self, address, count=1):
        if address <= image["failing"] < address + count:
            raise RuntimeError("the register's hardware has failed")
        return super().validate(address, count)

    def setValues(self, address, values, use_as_default=False):
        inputs.count()
        for at, value in enumerate(values, address):
            if at not in image["lies"]:
                self.values[at] = value
            if at in image["follows"]:
                inputs.values[at] = value


class Coils(ModbusSparseDataBlock):
    def setValues(self, address, values, use_as_default=False):
        inputs.count()
        for at, value in enumerate(values, address):
            self.values[at] = value
            if at == image["switch"]:
                discretes.values[at] = value


async def serve():
    slave = ModbusSlaveContext(di=discretes, co=block("coil", Coils), hr=block("holding", Holding), ir=inputs, zero_mode=True)
    context = ModbusServerContext(slaves={image["unit"]: slave}, single=False)
    if sys.argv[2] == "tcp":
        await StartAsyncTcpServer(context=context, framer=ModbusSocketFramer, address=("127.0.0.1", int(sys.argv[3])), allow_reuse_address=True)
    else:
        await StartAsyncSerialServer(context=context, framer=ModbusRtuFramer, port=sys.argv[3], baudrate=int(sys.argv[4]), parity="N")


asyncio.run(serve())

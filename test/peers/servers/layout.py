"""What the Modbus servers of test/peers hold, what capd must make of it, and capd's configuration for it.

usage: layout.py PEER FOLDER LINK
fills FOLDER with a configuration of capd (capd.yaml, assets.d, contracts.d) for the server PEER behind LINK, a link of the inventory as JSON, and writes
FOLDER/image.json for those servers that can take any content.

Registers are laid out here with Python's struct and by the plain meaning of the byte orders' names, so that capd's own decoding is judged by another.
"""

import json
import struct
import sys
from pathlib import Path

INTEGERS = {"uint16": "H", "int16": "h", "uint32": "I", "int32": "i", "uint64": "Q", "int64": "q"}
FLOATS = {"float16": "e", "float32": "f", "float64": "d"}
ORDERS = ("ABCD", "CDAB", "BADC", "DCBA")

# One value for each type and order, so that a mixed-up one shows. Text, because capd answers with exact decimals.
VALUES = {
    "uint16": ["48879", "4660"],
    "int16": ["-12345", "-2"],
    "uint32": ["3735928559", "305419896", "4026531841", "65536"],
    "int32": ["-123456789", "-2147483648", "19088743", "-65537"],
    "float32": ["123456", "77.5146", "-0.15625", "3.4e38"],
    "uint64": ["18446744073709551615", "81985529216486895", "12379813738877118345", "4294967297"],
    "int64": ["-9223372036854775808", "-1", "1311768467463790320", "-4294967297"],
    "float64": ["-1234567.890625", "0.1", "1e100", "-2.5e-100"],
    "float16": ["1.5"],
    "bcd16": ["9075"],
    "bcd32": ["20261130"],
}

UNIT = 7
COILS = [True, False, True, True, False, False, True, False, True, True, True, False, True]
DISCRETES = [False, True, True, False, True, False, False, False, True, True, False]
SETPOINT, STUCK, LIAR, WIDE, WRITES = 100, 101, 102, 104, 110  # holding registers; input registers of the same address follow, but for STUCK's and LIAR's
SWITCH = 30  # coil; the discrete input of the same address follows
WIRE, OFFLINE = "wire_error", "offline"  # why capd has no value: the device answered with an error or with nonsense; it did not answer
HOLE = 125  # a holding register that does not exist among others that do
EDGE = 140  # the last holding register but for those:
MISSING, FAILING, BUSY, SILENT = 200, 210, 211, 212


def encode(kind, text):
    """The value's bytes, most significant first."""
    if kind in INTEGERS:
        return struct.pack(">" + INTEGERS[kind], int(text))
    if kind in FLOATS:
        return struct.pack(">" + FLOATS[kind], float(text))
    return bytes.fromhex(text.zfill({"bcd16": 4, "bcd32": 8}[kind]))


def arrange(raw, order):
    """Registers as they travel: ABCD is the value as it is; CD before AB is the low word first; BA swaps within a register."""
    words = [raw[i:i + 2] for i in range(0, len(raw), 2)]
    if order in ("CDAB", "DCBA"):
        words.reverse()
    if order in ("BADC", "DCBA", "BA"):
        words = [w[::-1] for w in words]
    return [int.from_bytes(w, "big") for w in words]


class Table:
    """Points of one table, one after the other."""

    def __init__(self, table, start=0):
        self.table, self.next, self.words, self.points, self.expected = table, start, {}, {}, {}

    def put(self, name, words, at, value, **more):
        address = self.next
        for word in words:
            self.words[self.next] = word
            self.next += 1
        self.points[name] = {"at": {"table": self.table, "address": address, **at}, "role": "process", **more}
        self.expected[name] = value
        return address

    def number(self, kind, order, text):
        at = {"type": kind}
        if order:
            at["byte_order"] = order
        self.put(f"{kind}_{order or 'plain'}".lower(), arrange(encode(kind, text), order or "ABCD"), at, text)

    def everything(self):
        for kind, values in VALUES.items():
            orders = ORDERS if len(values) == 4 else ("ABCD",) if kind == "bcd32" else ("", "BA")
            for order, text in zip(orders, values):
                self.number(kind, order, text)
        self.put("text", arrange(b"capd & peers\0\0", "ABCD"), {"type": "string", "length": 14}, "capd & peers")
        self.put("high_byte", [0x8CFE], {"type": "int8", "byte": "high"}, "-116")
        self.points["low_byte"] = {"at": {"table": self.table, "address": self.next - 1, "type": "uint8", "byte": "low"}, "role": "process"}
        self.expected["low_byte"] = "254"
        bits = self.put("bit_0", [0x8005], {"type": "uint16", "bit": 0}, True)
        for bit, want in ((1, False), (2, True), (15, True)):
            self.points[f"bit_{bit}"] = {"at": {"table": self.table, "address": bits, "type": "uint16", "bit": bit}, "role": "process"}
            self.expected[f"bit_{bit}"] = want


def bits(table, start, values):
    t = Table(table, start)
    for i, value in enumerate(values):
        t.put(f"{table}_{i}", [int(value)], {}, value)
    return t


class Peer:
    """What a server holds. assets: points by asset and name. good: their values. together: values that are right only when the
    asset is read as a whole. holes: points among them that do not exist. bad: points that must
    never have a value, or only an allowed one. calls: what to write, and the only right answer."""

    def __init__(self, unit=UNIT):
        self.devices = {"PEER": {"unit_id": unit}}
        self.assets, self.good, self.bad, self.contracts, self.calls = {}, {}, {}, [], []
        self.image, self.holes, self.together = {}, [], {}

    def add(self, asset, tables, device="PEER"):
        self.assets.setdefault(asset, {"device": device, "points": {}})
        for t in tables:
            self.assets[asset]["points"].update(t.points)
            self.good.update({f"{asset}.{name}": value for name, value in t.expected.items()})

    def fault(self, name, at, device="PEER", allowed=(), cause=None):
        """A point that the server answers wrongly or not at all; cause None is any."""
        self.assets[f"FAULT-{name}"] = {"device": device, "points": {"value": {"at": at, "role": "process"}}}
        self.bad[f"FAULT-{name}.value"] = {"allowed": list(allowed), "cause": cause}

    def writes(self, name, setpoint, feedback, unit_type, values, verdict, level, refuted_at=None):
        """A contract that sets setpoint and expects feedback to follow; None for no feedback but the setpoint itself."""
        points = {"setpoint": {"at": setpoint, "role": "setpoint", "access": "read_write"}}
        if unit_type != "boolean":
            points["setpoint"]["envelope"] = {"min": -10000, "max": 10000}
            points["setpoint"]["unit"] = "%"
        witness = "setpoint"
        if feedback:
            witness = "position"
            points["position"] = {"at": feedback, "role": "feedback", "update": "100ms"}
            if unit_type != "boolean":
                points["position"]["unit"] = "%"
        self.assets[f"W-{name}"] = {"device": "PEER", "points": points}
        tool = f"w-{name}".lower()
        schema = {"type": unit_type, "description": "What to write"}
        if unit_type != "boolean":
            schema |= {"minimum": -10000, "maximum": 10000, "x-unit": "%"}
        expect = {"point": witness, "is": "value"} if unit_type == "boolean" else {"point": witness, "near": "value", "tolerance": 0.01}
        self.contracts.append({
            "contract": "capd/v1", "tool": tool, "version": "1.0.0", "title": f"Write {name}", "asset": f"W-{name}",
            "points": {p: f"W-{name}.{p}" for p in points},
            "actions": {"set": {
                "name": f"set_{name}".lower(), "effect": "actuate" if feedback else "configure", "risk": "medium",
                "description": f"Sets {name}.",
                "parameters": {"type": "object", "additionalProperties": False, "required": ["value"], "properties": {"value": schema}},
                "security": {"permissions": ["peer:write"]},
                "execute": [{"write": "setpoint", "value": "value"}],
                "verify": {"min_level": "E4" if feedback else "E2", "within": "2s", "poll": "100ms", "settle": "300ms", "expect": [expect]},
            }}})
        for value in values:
            self.calls.append({"tool": f"set_{name}".lower(), "value": value, "verdict": verdict, "level": level, "refuted_at": refuted_at})


def register(table, address, kind="uint16", **more):
    return {"table": table, "address": address, "type": kind, **more}


def full(liar, holes, missing):
    """A server that takes any content. liar is the level that agrees when it acknowledges what it does not store, missing is why there is no value where
    it has none."""
    p = Peer()
    holding, inputs = Table("holding_register"), Table("input_register")
    holding.everything()
    inputs.next = 3  # the same points elsewhere: another table's value at the same address would show
    for kind in reversed(VALUES):
        inputs.number(kind, "CDAB" if len(VALUES[kind]) == 4 else "ABCD" if kind == "bcd32" else "", VALUES[kind][-1])
    p.add("HOLDING", [holding])
    p.add("INPUT", [inputs])
    p.add("BITS", [bits("coil", 3, COILS), bits("discrete_input", 5, DISCRETES)])
    p.writes("VALVE", register("holding_register", SETPOINT), register("input_register", SETPOINT), "number", [60], "confirmed", "E4")
    p.writes("WIDE", register("holding_register", WIDE, "float32", byte_order="CDAB"), register("input_register", WIDE, "float32", byte_order="CDAB"),
             "number", [12.5], "confirmed", "E4")
    p.writes("SWITCH", {"table": "coil", "address": SWITCH}, {"table": "discrete_input", "address": SWITCH}, "boolean", [True], "confirmed", "E4")
    p.writes("STUCK", register("holding_register", STUCK), register("input_register", STUCK), "number", [33], "refuted", "E2", "E4")
    if liar:
        p.writes("LIAR", register("holding_register", LIAR), register("input_register", LIAR), "number", [44], "refuted", liar, "E2")
    p.assets["COUNTER"] = {"device": "PEER", "points": {"writes": {"at": register("input_register", WRITES), "role": "process"}}}
    p.image = {"unit": UNIT, "holding": dict(holding.words), "input": dict(inputs.words), "coil": {3 + i: int(v) for i, v in enumerate(COILS)},
               "discrete": {5 + i: int(v) for i, v in enumerate(DISCRETES)}, "follows": [SETPOINT, WIDE, WIDE + 1], "lies": [LIAR], "writes": WRITES,
               "failing": FAILING, "busy": BUSY, "silent": SILENT, "switch": SWITCH}
    for address in (SETPOINT, STUCK, LIAR, WIDE, WIDE + 1):
        p.image["holding"][address] = p.image["input"][address] = 0
    p.image["input"][WRITES] = p.image["coil"][SWITCH] = p.image["discrete"][SWITCH] = 0
    if holes:
        hole = Table("holding_register", HOLE - 5)
        for i in range(10):
            hole.put(f"r{i}", [5000 + i], {"type": "uint16"}, str(5000 + i))
        p.add("HOLED", [hole])
        p.image["holding"].update(hole.words)
        del p.image["holding"][HOLE], p.good["HOLED.r5"]
        p.holes.append("HOLED.r5")
    p.fault("MISSING", register("holding_register", MISSING), cause=missing)
    p.image["holding"][EDGE] = 1
    p.fault("EDGE", register("holding_register", EDGE, "uint32", byte_order="ABCD"), cause=missing)
    p.fault("NO-COIL", {"table": "coil", "address": MISSING}, cause=missing)
    return p


def pymodbus(liar="E0"):
    """Its reply to a write shows what it holds, so a lie contradicts the request at once; its framer drops requests for other units."""
    p = full(liar, holes=True, missing=WIRE)
    p.devices["NOBODY"] = {"unit_id": 99}
    p.fault("FAILING", register("holding_register", FAILING), cause=WIRE)
    p.fault("NOBODY", register("holding_register", 0), "NOBODY", cause=OFFLINE)
    return p


def modbus_serial():
    p = pymodbus(liar="E1")
    p.devices["HASTY"] = {"unit_id": UNIT, "timeout": "300ms"}
    p.fault("BUSY", register("holding_register", BUSY), cause=WIRE)
    p.fault("SILENT", register("holding_register", SILENT), "HASTY", cause=OFFLINE)
    return p


def jsmodbus():
    return full(None, holes=False, missing=WIRE)  # it answers what lies beyond its buffers with a reply that is too short


def libmodbus():
    """libmodbus's unit-test-server with its own map and its own faults (unit-test-server.c, unit-test.h); mbpoll has filled the holding registers."""
    p = Peer(unit=17)
    first = 0x160
    holding = Table("holding_register", first)
    holding.number("uint64", "CDAB", "81985529216486895")
    for order, text in zip(ORDERS, VALUES["float64"][:2]):
        holding.number("float64", order, text)
    holding.number("int16", "", "-12345")
    holding.number("uint16", "BA", "4660")
    # Two registers are what the server answers with one too few; three are right.
    pair = Table("holding_register", holding.next)
    pair.number("float32", "CDAB", "77.5146")
    alone = pair.points["float32_cdab"]["at"]
    pair.number("uint16", "", "48879")  # 0x170: busy where a request begins there
    after = Table("holding_register", 0x172)
    after.put("late", [1720], {"type": "uint16"}, "1720")
    p.add("HOLDING", [holding])
    p.add("PAIRED", [pair])
    p.together = {ref: p.good.pop(ref) for ref in list(p.good) if ref.startswith("PAIRED.")}
    p.add("PATIENT", [after])
    inputs = Table("input_register", 0x108)
    inputs.put("ten", [10], {"type": "uint16"}, "10")
    p.add("INPUT", [inputs, bits("discrete_input", 0x1C4, [b >> i & 1 == 1 for b in (0xAC, 0xDB, 0x35) for i in range(8)][:0x16])])
    p.devices["HASTY"] = {"unit_id": 17, "timeout": "200ms"}
    p.devices["UNIT-255"] = {"unit_id": 255}
    p.fault("BUSY", register("holding_register", 0x170), cause=WIRE)
    p.fault("WRONG-TID", register("holding_register", 0x171), "HASTY")
    p.fault("LATE", register("holding_register", 0x172), "HASTY", cause=OFFLINE)
    p.fault("SLOW-BYTES", register("holding_register", 0x173), "HASTY")
    p.fault("SLOW-BYTES-255", register("holding_register", 0x173), "UNIT-255", allowed=["0"])
    p.fault("MISSING", register("holding_register", first + 0x20), cause=WIRE)
    p.fault("NO-INPUT", register("input_register", 0x109), cause=WIRE)
    p.fault("SHORT", alone, cause=WIRE)
    p.writes("REGISTER", register("holding_register", 0x17E), None, "number", [1234], "confirmed", "E2")
    p.writes("COIL", {"table": "coil", "address": 0x131}, None, "boolean", [True, False], "confirmed", "E2")
    p.writes("SHORT", register("holding_register", 0x17A, "float32", byte_order="ABCD"), None, "number", [1.5], "unknown", "E1")
    p.image = {"holding": {**holding.words, **pair.words, **after.words}}
    return p


PEERS = {"pymodbus": pymodbus, "modbus-serial": modbus_serial, "jsmodbus": jsmodbus, "libmodbus": libmodbus}


def write(peer, folder, link):
    p, folder = PEERS[peer](), Path(folder)
    for name in ("assets.d", "contracts.d", "profiles.d"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    config = {"config": "capd/v1", "mode": "active", "mcp": {"listen": "127.0.0.1:0"}, "roles": {"operator": ["*:read", "peer:write"]},
              "folders": {"assets": "assets.d", "contracts": "contracts.d", "profiles": "profiles.d", "state": "state", "run": "run"}}
    inventory = {"inventory": "capd/v1", "links": {"WIRE": link}, "devices": {n: {"link": "WIRE", **d} for n, d in p.devices.items()}, "assets": p.assets}
    (folder / "capd.yaml").write_text(json.dumps(config, indent=1))
    (folder / "assets.d" / "peer.json").write_text(json.dumps(inventory, indent=1))
    for contract in p.contracts:
        (folder / "contracts.d" / (contract["tool"] + ".json")).write_text(json.dumps(contract, indent=1))
    (folder / "image.json").write_text(json.dumps(p.image))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))

"""Judges what capd makes of a Modbus server that others wrote: values, errors, verdicts (layout.py says which).

usage: judge.py CAPD PEER; CAPD_SOCKET is the running daemon's. Prints a line for each check, exits 1 if one failed.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
from decimal import Decimal

import layout

capd, name = sys.argv[1:3]
peer = layout.PEERS[name]()
failed = 0


def run(*arguments):
    """The exit status and the document that capd printed."""
    done = subprocess.run([capd, *arguments, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    try:
        return done.returncode, json.loads(done.stdout, parse_float=Decimal, parse_int=Decimal)
    except json.JSONDecodeError:
        return done.returncode, {"output": done.stdout + done.stderr}


def report(promise, problems):
    global failed
    print(f"{'FAIL ' if problems else 'ok   '} {promise}")
    for p in problems[:5]:
        print(f"      {p}"[:600])
    failed += bool(problems)


def equal(got, want):
    """want is a boolean, a number as text, or a text."""
    if isinstance(want, bool) or isinstance(got, (bool, str)) or got is None:
        return type(got) is type(want) and got == want
    return isinstance(got, Decimal) and got == Decimal(want)


def read(ref):
    """The exit status and the readings by point."""
    status, doc = run("read", ref)
    return status, {r["point"]: r for r in doc.get("readings", [])}, doc


def wrong(reading, want):
    """What is wrong with a reading that must be good and equal, None if nothing is."""
    if reading is None:
        return "was not read"
    if reading["quality"] != "good" or not equal(reading["value"], want):
        return f"is {reading['value']!r} {reading['quality']} ({reading.get('detail', '')}), not {want!r}"
    return None


def check_assets(promise):
    problems, count = [], 0
    values = peer.good | peer.together
    for asset in sorted({ref.split(".")[0] for ref in values}):
        points = {ref: want for ref, want in values.items() if ref.startswith(asset + ".")}
        status, readings, doc = read(asset)
        whole = set(readings) == set(points)
        problems += [f"{ref} {problem}" for ref, want in points.items() if (problem := wrong(readings.get(ref), want))]
        if not readings or status != (0 if all(r["quality"] == "good" for r in readings.values()) else 3) or whole and status != 0:
            problems.append(f"{asset}: exit status {status}: {doc.get('output', '')}")
        count += len(points)
    report(f"{promise}: {count} values", problems)


def check_holes():
    problems = []
    for ref in peer.holes:
        status, readings, _ = read(ref.split(".")[0])
        if status != 3 or readings[ref]["quality"] != "bad" or readings[ref]["value"] is not None:
            problems.append(f"{ref}: exit status {status}, {readings.get(ref)}")
    if peer.holes:
        report("a register that does not exist is an error among neighbours that do", problems)


class Socket(http.client.HTTPConnection):
    """The daemon's status socket."""

    def __init__(self):
        super().__init__("capd", timeout=30)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.environ["CAPD_SOCKET"])


def check_singles():
    """Over the socket without a program for each."""
    problems, daemon = [], Socket()
    for ref, want in peer.good.items():
        daemon.request("GET", f"/v1/points/{ref}")
        doc = json.loads(daemon.getresponse().read(), parse_float=Decimal, parse_int=Decimal)
        readings = {r["point"]: r for r in doc.get("readings", [])}
        if problem := wrong(readings.get(ref), want):
            problems.append(f"{ref} {problem} {doc.get('error', '')}")
    daemon.close()
    report(f"each point alone: {len(peer.good)} values", problems)


def check_faults():
    for ref, want in peer.bad.items():
        status, readings, doc = read(ref)
        reading = readings.get(ref, {})
        problems = []
        if reading.get("quality") == "good":
            if status != 0 or not any(equal(reading["value"], v) for v in want["allowed"]):
                problems.append(f"a wrong value: {reading}, exit status {status}")
        elif status != 3 or reading.get("value") is not None:
            problems.append(f"exit status {status}, {reading or doc}")
        elif want["cause"] and reading["cause"] != want["cause"]:
            problems.append(f"cause {reading['cause']} ({reading.get('detail')}), not {want['cause']}")
        report(f"{ref} {'is what was served' if reading.get('quality') == 'good' else 'is an error: ' + reading.get('detail', '')}"[:140], problems)


def writes():
    """How many writes the server has executed, None if it does not tell."""
    if "COUNTER" not in peer.assets:
        return None
    return read("COUNTER.writes")[1]["COUNTER.writes"]["value"]


def check_call(call, again):
    before = writes()
    status, answer = run("call", call["tool"], f"value={json.dumps(call['value'])}")
    want = {key: call[key] for key in ("verdict", "level", "refuted_at")} | {"sent": not again}
    got = {key: answer.get(key) for key in want}
    problems = []
    if got != want or status != (0 if want["verdict"] == "confirmed" else 3):
        problems.append(f"exit status {status}, {got}, not {want}: {answer.get('summary', answer)}")
    if before is not None and writes() - before != int(not again):
        problems.append(f"the server counted {writes() - before} writes")
    report(f"{call['tool']} {call['value']}: {want['verdict']} at {want['level']}{', nothing sent' if again else ''}", problems)


check_assets("whole assets")
check_singles()
check_holes()
check_faults()
check_assets("whole assets after the faults")
for call in peer.calls:
    check_call(call, False)
    if call["verdict"] == "confirmed":
        check_call(call, True)
check_assets("whole assets after the writes")
sys.exit(failed > 0)

#!/usr/bin/env bash
# pymodbus, a Modbus library that others wrote, judges the demo plant as its client. The checks are in client.py.
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need jq jq
need /usr/lib/python3/dist-packages/pymodbus python3-pymodbus
need /usr/lib/python3/dist-packages/serial python3-serial
need_capd
start_demo --speed 4
release_serial
judge limit 40 /usr/bin/python3 "$here/client.py" "${modbus%:*}" "${modbus##*:}" "$serial"
finish

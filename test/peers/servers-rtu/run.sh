#!/usr/bin/env bash
# Modbus RTU servers that others wrote on a pair of ptys, with capd as their client: libmodbus's unit-test-server with its built-in
# faults, pymodbus, modbus-serial and jsmodbus. What they hold and what capd must make of it is in ../servers/layout.py.
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=test/peers/servers/lib.sh
. test/peers/servers/lib.sh

need jq jq
need mbpoll mbpoll
need socat socat
need gcc gcc libc6-dev
need pkg-config pkg-config
need /usr/share/doc/libmodbus-dev/examples/unit-test-server.c libmodbus-dev
need /usr/lib/python3/dist-packages/pymodbus python3-pymodbus
need /usr/lib/python3/dist-packages/serial python3-serial
need /usr/lib/python3/dist-packages/serial_asyncio python3-serial-asyncio
need_node
npm_install modbus-serial modbus-serial@8.0.25
modbus_serial=$npm_modules
npm_install jsmodbus jsmodbus@5.0.0
jsmodbus=$npm_modules
need_capd

start socat socat -d -d "pty,raw,echo=0,link=$work/master" "pty,raw,echo=0,link=$work/slave"
until_true 5 test -e "$work/slave"

# A serial server shows nothing when it is ready: it is asked until it answers.
answers() { mbpoll "${mbpoll_wire[@]}" -a 17 -t 4 -0 -r 5 -c 1 -1 -o 0.3 -q >/dev/null 2>&1 || sleep 1; }

[ $# -gt 0 ] || set -- libmodbus pymodbus modbus-serial jsmodbus
for peer in "$@"; do
	layout "$peer" "{\"transport\": \"modbus_rtu\", \"port\": \"$work/master\", \"baud\": 115200, \"parity\": \"none\", \"stop_bits\": 1, \"timeout\": \"2s\"}"
	image=$work/$peer/image.json
	mbpoll_wire=(-m rtu -b 115200 -P none "$work/master")
	case $peer in
	libmodbus)
		bash "$servers/build_libmodbus.sh" "$work/unit-test-server" || die "libmodbus's server cannot be built"
		serve libmodbus answers "$work/unit-test-server" rtu "$work/slave" 115200
		;;
	pymodbus) serve pymodbus answers /usr/bin/python3 "$servers/pymodbus_server.py" "$image" serial "$work/slave" 115200 ;;
	modbus-serial) serve modbus-serial answers "$node" "$servers/modbus_serial.mjs" "$modbus_serial" "$image" serial "$work/slave" 115200 ;;
	jsmodbus) serve jsmodbus answers "$node" "$servers/jsmodbus.mjs" "$jsmodbus" "$image" serial "$work/slave" ;;
	*) die "no server $peer" ;;
	esac
done
finish

#!/usr/bin/env bash
# Modbus TCP servers that others wrote, with capd as their client: libmodbus's unit-test-server with its built-in faults, pymodbus,
# modbus-serial and jsmodbus. What they hold and what capd must make of it is in ../servers/layout.py.
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=test/peers/servers/lib.sh
. test/peers/servers/lib.sh

need jq jq
need mbpoll mbpoll
need gcc gcc libc6-dev
need pkg-config pkg-config
need /usr/share/doc/libmodbus-dev/examples/unit-test-server.c libmodbus-dev
need /usr/lib/python3/dist-packages/pymodbus python3-pymodbus
need_node
npm_install modbus-serial modbus-serial@8.0.25
modbus_serial=$npm_modules
npm_install jsmodbus jsmodbus@5.0.0
jsmodbus=$npm_modules
need_capd

takes_connections() { listening "$port"; }

[ $# -gt 0 ] || set -- libmodbus pymodbus modbus-serial jsmodbus
for peer in "$@"; do
	port=$(free_port)
	mbpoll_wire=(-m tcp -p "$port" 127.0.0.1)
	layout "$peer" "{\"transport\": \"modbus_tcp\", \"endpoint\": \"127.0.0.1:$port\", \"timeout\": \"2s\"}"
	image=$work/$peer/image.json
	case $peer in
	libmodbus)
		bash "$servers/build_libmodbus.sh" "$work/unit-test-server" || die "libmodbus's server cannot be built"
		serve libmodbus takes_connections "$work/unit-test-server" tcp "$port"
		;;
	pymodbus) serve pymodbus takes_connections /usr/bin/python3 "$servers/pymodbus_server.py" "$image" tcp "$port" ;;
	modbus-serial) serve modbus-serial takes_connections "$node" "$servers/modbus_serial.mjs" "$modbus_serial" "$image" tcp "$port" ;;
	jsmodbus) serve jsmodbus takes_connections "$node" "$servers/jsmodbus.mjs" "$jsmodbus" "$image" tcp "$port" ;;
	*) die "no server $peer" ;;
	esac
done
finish

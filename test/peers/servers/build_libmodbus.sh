#!/usr/bin/env bash
# Builds libmodbus's unit-test-server, whose sources Debian ships as an example, with two changes: the port or the device is its second argument, and
# after a connection it takes the next one.
# usage: build_libmodbus.sh PROGRAM
set -euo pipefail
folder=$(dirname "$1")
cp /usr/share/doc/libmodbus-dev/examples/unit-test{-server.c,.h} "$folder/"
# shellcheck disable=SC2016
sed -i -e 's|modbus_new_tcp("127.0.0.1", 1502)|modbus_new_tcp("127.0.0.1", atoi(argv[2]))|' \
	-e 's|"/dev/ttyUSB0", 115200|argv[2], atoi(argv[3])|' \
	-e 's|^    for (;;) {|again:\n&|' \
	-e 's|^    printf("Quit the loop.*|    if (use_backend == TCP) {\n        close(modbus_get_socket(ctx));\n        modbus_tcp_accept(ctx, \&s);\n        goto again;\n    }\n&|' \
	"$folder/unit-test-server.c"
# shellcheck disable=SC2046
gcc -o "$1" "$folder/unit-test-server.c" $(pkg-config --cflags --libs libmodbus)

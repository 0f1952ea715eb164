#!/usr/bin/env bash
# mbpoll, a Modbus client that others wrote (libmodbus), judges the demo plant: registers, exceptions, writes,
# over TCP and over the serial line.
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need jq jq
need mbpoll mbpoll
need_capd
start_demo --speed 4

# mb UNIT ARGUMENTS... [-- VALUES...]: mbpoll on the wire of the unit; units above 10 are on the serial line. TABLE below is mbpoll's -t: 0 coil,
# 1 discrete input, 3 input register, 4 holding register, with :float for two registers, low word first.
mb() {
	local unit=$1 wire=(-m tcp -p "${modbus##*:}") device=${modbus%:*} options=()
	shift
	[ "$unit" -le 10 ] || [ "$unit" -gt 31 ] || { wire=(-m rtu -b 19200 -P none) device=$serial; }
	while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
	limit 10 mbpoll "${wire[@]}" -0 -1 -o 3 -a "$unit" "${options[@]}" "$device" "$@" 2>&1
}
# poll UNIT TABLE ADDRESS COUNT [OPTIONS...]: prints what it read, in one line; fails as mbpoll does, which then tells why.
poll() {
	local output
	output=$(mb "$1" -t "$2" -r "$3" -c "$4" "${@:5}") || { echo "$output"; return 1; }
	sed -nE 's/^\[[0-9]+\]:[[:space:]]*([^[:space:]]+).*/\1/p' <<<"$output" | xargs
}
write() { # UNIT TABLE ADDRESS VALUES...
	local output
	output=$(mb "$1" -t "$2" -r "$3" -- "${@:4}") || { echo "$output"; return 1; }
}
reads() { # WANTED ARGUMENTS OF POLL...
	local got
	got=$(poll "${@:2}") || { echo "$got"; return 1; }
	[ "$got" = "$1" ] || { echo "got $got, not $1"; return 1; }
}
within() { # LOW HIGH ARGUMENTS OF POLL...
	local got
	got=$(poll "${@:3}") || { echo "$got"; return 1; }
	awk -v got="$got" -v low="$1" -v high="$2" 'BEGIN { exit !(got + 0 == got && got >= low && got <= high) }' || { echo "got $got, not from $1 to $2"; return 1; }
}
refused() { # TEXT COMMAND...
	local output
	! output=$("${@:2}") || { echo "it was answered: $output"; return 1; }
	[[ $output == *"$1"* ]] || { echo "it failed otherwise: $output"; return 1; }
}
no_address="Illegal data address" no_value="Illegal data value"

check "mode is remote, e-stop healthy, seal water ok" reads "2 3" 1 3 1 2
before=$(poll 1 3 0 1)
moved() { [ "$(poll 1 3 0 1)" != "$before" ]; }
check "the heartbeat moves" until_true 5 moved
check "the level is a float, low word first" within 2 2.6 1 3:float 10 1
check "the level in the wrong word order is nonsense" within -1e-30 1e-30 1 3:float 10 1 -B
check "the valve stands at 45 %" within 440 460 1 3 14 1
check "its setpoint is 45 %" reads 450 1 4 100 1
check "limit switches: the inlet valve is closed" reads "0 1 0 0" 1 1 0 4
check "coils are off" reads "0 0" 1 0 0 2

check "a register that does not exist" refused "$no_address" poll 1 4 101 1
check "a block that leaves the map" refused "$no_address" poll 1 4 120 3
check "a block across a hole" refused "$no_address" poll 1 3 0 11
check "the last address" refused "$no_address" poll 1 4 65535 1
check "beyond the last address" refused "$no_address" poll 1 4 65535 2
check "a coil that does not exist" refused "$no_address" poll 1 0 2 1
check "a unit behind the gateway that does not exist" refused "Target device failed to respond" poll 99 3 0 1

check "one register is written (function 6)" write 1 4 100 600
check "and reads back" reads 600 1 4 100 1
check "and the valve moves there" until_true 10 within 590 610 1 3 14 1
check "two registers are written (function 16)" write 1 4:float 110 2.5
check "and read back as the float" reads 2.5 1 4:float 110 1
check "writing across the map's edge is refused" refused "$no_address" write 1 4 121 7 8
check "and writes nothing" reads 0 1 4 121 1
check "a coil is written (function 5)" write 1 0 0 1
check "and the inlet valve opens" until_true 10 reads "1 0" 1 1 0 2
check "two coils are written (function 15)" write 1 0 0 0 0
check "and the inlet valve closes again" until_true 10 reads "0 1" 1 1 0 2

release_serial
check "drive: a speed above its limit is refused" refused "$no_value" write 11 4 1 5001
check "drive: run and reset at once are refused" refused "$no_value" write 11 4 0 9
check "drive: the speed setpoint is written" write 11 4 1 3000
check "drive: it is ready, remote, and stands" reads "17 0 0 0" 11 3 0 4
check "drive: it starts" write 11 4 0 1
check "drive: its output rises" until_true 5 within 100 3000 11 3 1 1
check "drive: it stops" write 11 4 0 0
check "meter: 400 V, high word first" within 390 410 21 3:float 4 1 -B
check "relays: a block of eight" reads "0 0 0 0 0 0 0 0" 31 0 0 8
check "relays: any other block is refused" refused "$no_address" poll 31 0 0 2
check "relays: the siren is switched on" write 31 0 1 1
check "relays: its current contact closes" until_true 5 reads "0 1 0 0 0 0 0 0" 31 1 0 8
check "a unit on the serial line that does not exist keeps silent" refused "Connection timed out" poll 30 3 0 1
check "and the next one answers" reads "0 1 0 0 0 0 0 0" 31 0 0 8
finish

# shellcheck shell=bash
# shellcheck disable=SC2154 # what ../lib.sh gives
# Helpers for servers-*/run.sh: Modbus servers that others wrote, with capd as their client. To be sourced after ../lib.sh.

servers=$PWD/test/peers/servers

free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
# listening PORT, without a connection: some servers take one alone.
listening() {
	grep -Eqs "^ *[0-9]+: 0100007F:$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp
}

# layout PEER LINK fills $work/PEER with capd's configuration and image.json; LINK is JSON.
layout() {
	PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$servers/layout.py" "$1" "$work/$1" "$2" || die "no layout for $1"
}

# fill writes the holding registers of PEER's image with mbpoll; $mbpoll_wire is its options for the wire, with the device.
fill() {
	local address words
	while read -r address words; do
		# shellcheck disable=SC2086
		limit 10 mbpoll "${mbpoll_wire[@]}" -a 17 -0 -1 -t 4 -r "$address" -- $words >"$work/mbpoll.log" 2>&1 ||
			die "mbpoll cannot write: $(tail -n 3 "$work/mbpoll.log")"
	done < <(/usr/bin/python3 "$servers/runs.py" "$work/$1/image.json")
}

# judge_peer PEER runs capd on $work/PEER and judges what it makes of the server.
judge_peer() {
	local daemon
	echo "-- $1"
	start "$1-capd" "$capd" run --config "$work/$1/capd.yaml" --ready-file "$work/$1/ready.json" --own-user-is-technician
	daemon=$pid
	until_true 20 test -s "$work/$1/ready.json" || die "capd was not ready: $(tail -n 5 "$work/$1-capd.log")"
	CAPD_SOCKET=$(jq -r .socket "$work/$1/ready.json")
	export CAPD_SOCKET
	"$capd" status --json >"$work/status.json"
	jq -e '.rejected == [] and .suspended == []' "$work/status.json" >/dev/null ||
		die "not all files are in force: $(jq -c '.rejected[] | .file as $f | .problems[] | [$f, .line, .rule, .message]' "$work/status.json" | head -n 20)"
	judge limit 100 env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$servers/judge.py" "$capd" "$1"
	stop "$daemon"
}

# serve PEER READY COMMAND... starts a server, waits until the function READY holds, judges capd with it, and stops it. PEER has its layout.
serve() {
	local peer=$1 ready=$2 server
	shift 2
	start "$peer" "$@"
	server=$pid
	until_true 20 "$ready" || die "$peer did not start: $(tail -n 5 "$work/$peer.log")"
	[ "$peer" != libmodbus ] || fill "$peer" # the others begin with their image
	judge_peer "$peer"
	stop "$server"
}

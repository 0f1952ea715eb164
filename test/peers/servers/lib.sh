# shellcheck shell=bash
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
	judge env PYTHONDONTWRITEBYTECODE=1 timeout 100 /usr/bin/python3 "$servers/judge.py" "$capd" "$1"
	stop "$daemon"
}

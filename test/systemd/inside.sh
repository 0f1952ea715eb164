#!/usr/bin/env bash
# Runs as root inside the rig (rig.sh), with capd.deb beside it. Prints one line per promise; exits 0 if all were kept.
set -uo pipefail
cd /payload || exit 1
export DEBIAN_FRONTEND=noninteractive

failures=0
check() { # PROMISE COMMAND...: shows the command's output only if it failed
	local promise=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok    $promise"
	else
		printf 'FAIL  %s\n      %s\n%s\n' "$promise" "$*" "$output"
		failures=$((failures + 1))
	fi
}
until_true() { # COMMAND...: polls for 20 s
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "not within 20 s: $*"
	"$@"
}
not() { ! "$@"; }
is() { # PROPERTY VALUE of capd.service
	local value
	value=$(systemctl show -P "$1" capd.service)
	[ "$value" = "$2" ] || { echo "$1 is $value, not $2"; return 1; }
}
differs() { [ "$(systemctl show -P "$1" capd.service)" != "$2" ]; }
pid() { systemctl show -P MainPID capd.service; }
as() { # USER COMMAND...
	local user=$1
	shift
	runuser -u "$user" -- "$@"
}
restarted_after() { # PID: another process is the ready daemon
	until_true differs MainPID "$1" && until_true is ActiveState active && is SubState running && not is MainPID 0
}
verified() {
	local output
	output=$(systemd-analyze verify capd.service capd.socket capd-mcp.socket 2>&1)
	[ -z "$output" ] || { echo "$output"; return 1; }
}
says() { # TEXT COMMAND...
	local text=$1 output
	shift
	output=$("$@" 2>&1)
	[[ $output == *"$text"* ]] || { echo "$output"; return 1; }
}
bridge() {
	local hello='{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}'
	as nobody capd mcp <<<'{"jsonrpc":"2.0","id":1,"method":"initialize","params":'"$hello"'}'
}
http_post() {
	local head='POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close'
	exec 3<>/dev/tcp/127.0.0.1/7420
	printf '%b\r\n\r\n{}' "$head" >&3
	cat <&3
}
section() { printf -- '-- %s\n' "$1"; }

section install
check "the package installs" dpkg -i capd.deb
check "the service is active and has told so itself (Type=notify)" is Type notify
check "the service is active" until_true is ActiveState active
check "it is enabled" systemctl is-enabled capd.service capd.socket capd-mcp.socket
check "it runs as capd" test "$(ps -o user= -p "$(pid)")" = capd
check "the groups exist" getent group capd capd-tech dialout
check "strangers cannot read the configuration" not as nobody cat /etc/capd/capd.yaml
check "the daemon can" as capd cat /etc/capd/capd.yaml
check "strangers cannot read the state" not as nobody ls /var/lib/capd

section units
check "systemd-analyze verify finds nothing" verified
if systemd-analyze --help | grep -q -- --offline; then
	check "exposure is at most 2.0" systemd-analyze security --offline=true --threshold=20 --no-pager /lib/systemd/system/capd.service
	systemd-analyze security --offline=true --no-pager /lib/systemd/system/capd.service | sed -n 's/^→ /      /p'
fi

section "status socket"
check "root reads the status" capd status --json
check "any local user reads the status" as nobody capd status --json
check "the socket unit made it" test "$(stat -c '%a %U' /run/capd/capd.sock)" = "666 root"

section "callers and doors"
useradd -G capd-tech tech
cat >/etc/capd/assets.d/rig.yaml <<'Y'
inventory: capd/v1
links: {NET: {transport: modbus_tcp, endpoint: "127.0.0.1:1", timeout: 1s}}
devices: {PLC: {link: NET, unit_id: 1}}
assets:
  PUMP-1:
    title: Pump
    location: plant
    device: PLC
    points: {speed: {at: {table: input_register, address: 0, type: uint16}, role: status}}
Y
check "a fresh install observes" says '"mode": "observe"' capd status --json
check "a new inventory file is taken up by itself" until_true says '"assets": 1' capd status --json
check "a technician may lock" as tech capd lock PUMP-1 --reason "bearing is hot"
check "others may not lift it" not as nobody capd unlock PUMP-1
check "others may not change the mode" not as nobody capd mode active --reason "because"
check "others see who locked what" says '"bearing is hot"' as nobody capd status --json
check "an agent on the box gets an answer" says '"serverInfo"' bridge
check "an agent without a token is refused over HTTP" says '401 Unauthorized' http_post

section reload
before=$(pid)
check "systemctl reload succeeds" systemctl reload capd.service
check "reload is finished by the daemon" until_true is SubState running
check "reload keeps the process" is MainPID "$before"

section "crash and hang"
before=$(pid)
kill -9 "$before"
check "kill -9: a new process is ready" restarted_after "$before"
check "status works after it" until_true as nobody capd status --json
mkdir -p /run/systemd/system/capd.service.d
printf '[Service]\nWatchdogSec=2s\nTimeoutAbortSec=2s\n' >/run/systemd/system/capd.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart capd.service
check "with a short watchdog it is ready" until_true is ActiveState active
before=$(pid)
restarts=$(systemctl show -P NRestarts capd.service)
sleep 5 # a healthy daemon outlives several watchdog periods
check "a healthy daemon feeds the watchdog" is MainPID "$before"
kill -STOP "$before"
check "SIGSTOP: the watchdog starts a new process" restarted_after "$before"
check "systemd counts the restart" differs NRestarts "$restarts"
rm -r /run/systemd/system/capd.service.d
systemctl daemon-reload
systemctl restart capd.service

section "stop and socket activation"
check "systemctl stop succeeds" systemctl stop capd.service
check "it ended cleanly" is Result success
check "stopping takes the sockets away" until_true test ! -e /run/capd/capd.sock
check "status says so instead of starting it" not as nobody capd status --json
check "still stopped" is ActiveState inactive
check "the socket alone starts" systemctl start capd.socket
check "the socket alone does not start the daemon" is ActiveState inactive
check "the first status starts the daemon" as nobody capd status --json
check "it is ready" until_true is ActiveState active

section "upgrade, remove, purge"
echo '# a line of the administrator' >>/etc/capd/capd.yaml
before=$(pid)
check "an upgrade succeeds" dpkg -i capd.deb
check "an upgrade restarts the daemon" restarted_after "$before"
check "an upgrade keeps the configuration" grep -q administrator /etc/capd/capd.yaml
systemctl stop capd.service 2>/dev/null
check "an upgrade of a stopped capd succeeds" dpkg -i capd.deb
check "a stopped capd stays stopped" is ActiveState inactive
systemctl start capd.service
check "remove succeeds" dpkg -r capd
check "remove stops the daemon" not pgrep -x capd
check "remove takes the sockets away" test ! -e /run/capd/capd.sock
check "remove keeps configuration and state" test -e /etc/capd/capd.yaml -a -e /var/lib/capd/registry.db
check "installing again starts it" dpkg -i capd.deb
check "it is ready again" until_true is ActiveState active
check "the lockout is still in force" says '"bearing is hot"' capd status --json
check "purge succeeds" dpkg -P capd
check "purge deletes the state" test ! -e /var/lib/capd
check "purge deletes the packaged configuration" test ! -e /etc/capd/capd.yaml
check "purge keeps files that people added" test -e /etc/capd/assets.d/rig.yaml
check "nothing is left enabled" test -z "$(find /etc/systemd/system -name 'capd*')"

if [ "$failures" -gt 0 ]; then
	journalctl --no-pager -u capd.service 2>/dev/null | tail -n 40
fi
echo "$failures failed"
[ "$failures" = 0 ]

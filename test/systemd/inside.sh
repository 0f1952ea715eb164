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
echo keep >/var/lib/capd/keep
before=$(pid)
check "an upgrade succeeds" dpkg -i capd.deb
check "an upgrade restarts the daemon" restarted_after "$before"
check "an upgrade keeps the configuration" grep -q administrator /etc/capd/capd.yaml
systemctl stop capd.service
check "an upgrade of a stopped capd succeeds" dpkg -i capd.deb
check "a stopped capd stays stopped" is ActiveState inactive
systemctl start capd.service
check "remove succeeds" dpkg -r capd
check "remove stops the daemon" not pgrep -x capd
check "remove takes the sockets away" test ! -e /run/capd/capd.sock
check "remove keeps configuration and state" test -e /etc/capd/capd.yaml -a -e /var/lib/capd/keep
check "installing again starts it" dpkg -i capd.deb
check "it is ready again" until_true is ActiveState active
check "with its state" test -e /var/lib/capd/keep
echo mine >/etc/capd/assets.d/mine.yaml.off
check "purge succeeds" dpkg -P capd
check "purge deletes the state" test ! -e /var/lib/capd
check "purge deletes the packaged configuration" test ! -e /etc/capd/capd.yaml
check "purge keeps files that people added" test -e /etc/capd/assets.d/mine.yaml.off
check "nothing is left enabled" test -z "$(find /etc/systemd/system -name 'capd*')"

if [ "$failures" -gt 0 ]; then
	journalctl --no-pager -u capd.service 2>/dev/null | tail -n 40
fi
echo "$failures failed"
[ "$failures" = 0 ]

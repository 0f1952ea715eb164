# shellcheck shell=bash
# Helpers for test/peers/*/run.sh, to be sourced first by bash. They put the script under a time-out, go to the root of the repository and give:
#   $here  the script's own folder        $work  an empty folder that goes away at the end
# Everything begun with start ends with the script, however that ends.
set -uo pipefail

# The first run on a machine installs; without that a script takes less than a minute.
if [ -z "${PEERS_LIMITED:-}" ]; then
	export PEERS_LIMITED=1
	exec timeout --foreground -k 60 "${PEERS_TIMEOUT:-400}" bash "$0" "$@"
fi
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.." || exit 1
. test/lib.sh
work=$(mktemp -d /tmp/capd-peers.XXXXXX)
export TMPDIR=$work
declare -A started=() # by process id
passed=0 failed=0

at_end() {
	local status=$? pid
	trap - EXIT
	for pid in "${!started[@]}"; do stop "$pid"; done
	rm -rf "$work"
	exit "$status"
}
trap at_end EXIT
trap 'exit 143' TERM INT

die() {
	echo "$*" >&2
	exit 1
}

# limit SECONDS COMMAND... ends a command that takes too long; an interrupt at the terminal reaches it.
limit() { timeout --foreground -k 5 "$@"; }

# start NAME COMMAND... begins a process in a session of its own, with its output in $work/NAME.log, and sets $pid.
start() {
	local name=$1
	shift
	setsid "$@" >"$work/$name.log" 2>&1 </dev/null &
	pid=$!
	started[$pid]=$name
}

# stop PID ends what start began, and then what is left of its session.
stop() {
	kill "$1" 2>/dev/null
	until_true 5 gone "$1" >/dev/null
	kill -KILL -- "-$1" 2>/dev/null
	wait "$1" 2>/dev/null
	unset "started[$1]"
}
gone() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; }

# until_true SECONDS COMMAND... polls.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "not in time: $*"; return 1; }
		sleep 0.05
	done
}

# check PROMISE COMMAND... runs one check; the beginning of its output shows only if it failed.
check() {
	local promise=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok    $promise"
		passed=$((passed + 1))
	else
		printf 'FAIL  %s\n      %s\n%s\n' "$promise" "$*" "${output:0:1500}"
		failed=$((failed + 1))
	fi
}

# judge COMMAND... runs a program that prints lines of its own, "ok    PROMISE" and "FAIL  PROMISE", and counts them.
judge() {
	local before=$failed status
	"$@" </dev/null >"$work/judge.out" 2>&1
	status=$?
	cat "$work/judge.out"
	passed=$((passed + $(grep -c '^ok ' "$work/judge.out")))
	failed=$((failed + $(grep -c '^FAIL ' "$work/judge.out")))
	if [ "$status" != 0 ] && [ "$failed" = "$before" ]; then
		echo "FAIL  $1 ended with status $status"
		failed=$((failed + 1))
	fi
}

# finish ends the script with the count of its checks.
finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
}

# need_capd builds capd and sets $capd to it. CAPD in the environment names another one to test.
need_capd() {
	capd=${CAPD:-$PWD/bin/capd}
	[ -z "${CAPD:-}" ] || return 0
	(flock 9 && make --no-print-directory --silent build) 9>"$test_cache/build.lock" || die "capd cannot be built"
}

# start_demo OPTIONS... runs capd demo and sets $url, $token, $viewer, $socket, and of the plant $modbus (host:port of its gateway)
# and $serial (device of its RTU line).
start_demo() {
	start demo "$capd" demo --listen 127.0.0.1:0 --ready-file "$work/ready.json" "$@"
	until_true 30 test -s "$work/ready.json" || die "capd demo was not ready: $(cat "$work/demo.log")"
	# shellcheck disable=SC2034 # for the caller
	{ read -r url && read -r token && read -r viewer && read -r socket && read -r modbus && read -r serial; } \
		< <(jq -r '.mcp_url, .token, .viewer_token, .socket, .modbus, .serial' "$work/ready.json")
	export CAPD_SOCKET=$socket
}

# release_serial lets the demo's capd give its serial line away, on which there can be one client alone.
release_serial() {
	sed -i "s|port: \"$serial\"|port: \"$work/no-port\"|" "${socket%/run/*}"/assets.d/*.yaml
	"$capd" reload >"$work/reload.log" 2>&1 || die "the demo's capd did not give its serial line away: $(cat "$work/reload.log")"
}

# npm_install NAME PACKAGE@VERSION... installs npm packages once into a folder of the cache and sets $npm_modules to its
# node_modules. No script of a package runs.
npm_install() {
	local folder=$test_cache/npm/$1
	shift
	need npm npm
	# shellcheck disable=SC2034 # for the caller
	npm_modules=$folder/node_modules
	mkdir -p "$test_cache/npm"
	(
		flock 9
		[ "$(cat "$folder/complete" 2>/dev/null)" != "$*" ] || exit 0
		echo "installing $* from npm"
		rm -rf "$folder"
		mkdir -p "$folder"
		npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >"$folder.log" 2>&1 </dev/null &&
			echo "$*" >"$folder/complete"
	) 9>"$folder.lock" || { tail -n 5 "$folder.log" >&2; skip "could not install $* from npm"; }
}

# need_node sets $node to a Node.js of 22.19 or later: the system's, or one from npm.
need_node() {
	if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' 2>/dev/null; then
		node=$(command -v node)
		return 0
	fi
	local arch
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) skip "npm has no Node.js 22 for $(uname -m)" ;;
	esac
	npm_install node22 "node-linux-$arch@22.23.3"
	# shellcheck disable=SC2034 # for the caller
	node=$npm_modules/node-linux-$arch/bin/node
}

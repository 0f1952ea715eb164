# shellcheck shell=bash
# Helpers for test/*/run.sh, to be sourced by bash. A run.sh exits 0 when it passed and 77 when it could not run here.

# Downloads of the tests, outside the repository and kept between runs.
test_cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/capd
mkdir -p "$test_cache"

# skip REASON ends the script loudly.
skip() {
	echo "SKIPPED: $*" >&2
	exit 77
}

# need COMMAND|FILE PACKAGE... makes sure that a command, or a file given by its full path, is there: it installs the
# Debian packages if not, and skips the test where that is impossible.
need() {
	local what=$1
	shift
	case $what in
	/*) [ ! -e "$what" ] || return 0 ;;
	*) ! command -v "$what" >/dev/null || return 0 ;;
	esac
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then skip "$what is missing; install: $*"; fi
	echo "installing $*"
	local log=$test_cache/apt.log
	(
		flock 9
		export DEBIAN_FRONTEND=noninteractive
		apt-get install -y --no-install-recommends "$@" >"$log" 2>&1 ||
			{ apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1
	) 9>"$test_cache/apt.lock" || { tail -n 5 "$log" >&2; skip "could not install $*"; }
}

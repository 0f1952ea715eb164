#!/usr/bin/env bash
# Runs the Go tests as 32-bit programs (GOARCH=386). Where the kernel runs none, QEMU's user mode does, with -short: an emulated
# test cannot start another emulated program. QEMU below 10 mixes up the threads of a 386 Go program and crashes it; Debian 12
# has 10 in its backports, which is unpacked into the cache and not installed.
# usage: test/run386.sh [PACKAGES]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. test/lib.sh
export CGO_ENABLED=0 GOARCH=386

recent() { # QEMU
	local version
	version=$("$1" --version 2>/dev/null | sed -n 's/.* version \([0-9]*\)\..*/\1/p') && [ "${version:-0}" -ge 10 ]
}

# unpack_qemu FOLDER: needs no root; apt works on lists of its own, from the host's first source.
unpack_qemu() {
	local mirror release new=$1.new
	release=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # apt expands it
	mirror=$(apt-get indextargets --format '$(REPO_URI)' | sed -n 1p)
	rm -rf "$new"
	mkdir -p "$new/lists/partial" "$new/cache/archives/partial"
	printf 'deb %s %s main\n' "$mirror" "$release" "$mirror" "$release-backports" >"$new/sources"
	local options=(-qq -t "$release-backports" -o "Dir::Etc::sourcelist=$new/sources" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$new/lists" -o "Dir::Cache=$new/cache" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	(cd "$new" && apt-get "${options[@]}" download qemu-user)
	dpkg-deb -x "$new"/qemu-user_*.deb "$new/root"
	rm -rf "$1"
	mv "$new/root" "$1"
	rm -rf "$new"
}

# find_qemu sets $qemu.
find_qemu() {
	for qemu in qemu-i386-static qemu-i386 "$test_cache/qemu/usr/bin/qemu-i386"; do
		! recent "$qemu" || return 0
	done
	echo "unpacking QEMU into $test_cache/qemu"
	(unpack_qemu "$test_cache/qemu") >"$test_cache/qemu.log" 2>&1 && recent "$qemu" ||
		{ tail -n 5 "$test_cache/qemu.log" >&2; skip "this kernel runs no 386 programs, and there is no qemu-i386 of version 10 or later"; }
}

probe=$test_cache/probe386
echo 'package main; func main() {}' >"$probe.go"
go build -o "$probe" "$probe.go"
emulated=()
if ! "$probe" 2>/dev/null; then
	find_qemu
	echo "this kernel runs no 386 programs: $qemu runs them, with -short"
	emulated=(-short -exec "$qemu")
fi
[ $# -gt 0 ] || set -- ./...
go test "${emulated[@]}" "$@"

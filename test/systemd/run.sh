#!/usr/bin/env bash
# Installs the .deb of this machine's architecture in a real Debian with systemd as PID 1 and checks what docs/install.md
# promises. The checks are in inside.sh.
# usage: test/systemd/run.sh [FILE.deb]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/lib.sh

[ "$(id -u)" = 0 ] || skip "systemd as PID 1 in namespaces needs root"
grep -q ' cgroup2 ' /proc/mounts || skip "no cgroup2 is mounted"
grep -qw overlay /proc/filesystems || skip "this kernel has no overlayfs"
grep -qx 'ID=debian' /etc/os-release || skip "the Debian root is made from the host's own apt sources; this is no Debian"
unshare --pid --mount --net --fork true || skip "no new namespaces are allowed here"
need debootstrap debootstrap

payload=$(mktemp -d)
trap 'rm -rf "$payload"' EXIT
deb=${1:-}
if [ -z "$deb" ]; then
	VERSION=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}
	arch=$(dpkg --print-architecture)
	make --no-print-directory cross VERSION="$VERSION" >/dev/null
	deb=$(packaging/deb.sh "$VERSION" "$arch")
fi
cp "$deb" "$payload/capd.deb"
cp test/systemd/inside.sh "$payload/"

test/systemd/rig.sh root >"$test_cache/rig.log" 2>&1 ||
	{ tail -n 5 "$test_cache/rig.log" >&2; skip "could not make the Debian root; see $test_cache/rig.log"; }
test/systemd/rig.sh boot "$payload"
cat "$payload/out.log"
[ "$(tail -n 1 "$payload/out.log")" = RIG-EXIT=0 ]

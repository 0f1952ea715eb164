#!/usr/bin/env bash
# Packs bin/capd-linux-* (make cross) into bin/capd_VERSION_ARCH.deb. The same sources give the same bytes: every date is
# SOURCE_DATE_EPOCH, or the last commit's time, or 1980-01-01 without git.
# usage: packaging/deb.sh VERSION [amd64 arm64 armhf i386]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1
shift
[ $# -gt 0 ] || set -- amd64 arm64 armhf i386

# git describe -> Debian: v1.2.3 is 1.2.3; v1.2.3-4-gabc is 1.2.3+4.gabc; no tag yet sorts before every release.
case $version in
v[0-9]*) DEB_VERSION=$(sed -E 's/^v//; s/-([0-9]+)-g/+\1.g/; s/-/./g' <<<"$version") ;;
*) DEB_VERSION=0~${version//-/.} ;;
esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
LICENCES=bin/third-party-licences.gz
export DEB_VERSION SOURCE_DATE_EPOCH LICENCES

packaging/licences.sh | gzip -9n >"$LICENCES"
for arch; do
	case $arch in
	amd64 | arm64) GO_ARCH=$arch BINARY=bin/capd-linux-$arch ;;
	armhf) GO_ARCH=arm7 BINARY=bin/capd-linux-armv7 ;;
	i386) GO_ARCH=386 BINARY=bin/capd-linux-386 ;;
	*) echo "deb.sh: unknown architecture $arch; one of amd64 arm64 armhf i386" >&2; exit 2 ;;
	esac
	export GO_ARCH BINARY
	go tool -modfile=tools/go.mod nfpm package --config packaging/nfpm.yaml --packager deb \
		--target "bin/capd_${DEB_VERSION}_$arch.deb" >/dev/null
	echo "bin/capd_${DEB_VERSION}_$arch.deb"
done

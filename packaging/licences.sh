#!/usr/bin/env bash
# Prints the licence files of every Go module that is linked into capd, and Go's own: their licences ask for that in
# binary distributions. Sorted and undated, so that packages are reproducible.
# usage: packaging/licences.sh > FILE
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

entry() { # NAME FOLDER
	local file found=
	for file in "$2"/LICEN[CS]E* "$2"/COPYING* "$2"/NOTICE*; do
		[ -f "$file" ] || continue
		found=1
		printf '%s\n%s: %s\n%s\n\n' "$line" "$1" "${file##*/}" "$line"
		cat "$file"
		printf '\n'
	done
	if [ -z "$found" ]; then
		printf '%s\n%s comes without a licence file.\n%s\n\n' "$line" "$1" "$line"
		echo "licences.sh: $1 comes without a licence file" >&2
	fi
}
line=$(printf -- '-%.0s' {1..100})

entry "Go standard library" "$(go env GOROOT)"
for arch in amd64 arm; do
	GOOS=linux GOARCH=$arch CGO_ENABLED=0 go list -deps \
		-f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/capd
done | sort -u | while read -r name folder; do entry "$name" "$folder"; done

#!/usr/bin/env bash
# Static checks: gofmt, go vet, staticcheck, shellcheck where it is installed, checksums of the downloaded modules.
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

status=0
check() { # NAME COMMAND...: prints the command's output only if it failed
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok    $name"
	else
		printf '%s\nFAIL  %s\n' "$output" "$name"
		status=1
	fi
}
formatted() {
	! gofmt -l cmd internal test 2>&1 | grep .
}
scripts() {
	grep -rlE '^#!.*(bash|/sh)$' .ci packaging test | xargs shellcheck -x -S warning
}

check gofmt formatted
check "go vet" go vet ./...
check staticcheck go tool -modfile=tools/go.mod staticcheck ./...
if command -v shellcheck >/dev/null; then check shellcheck scripts; else echo "--    shellcheck is not installed"; fi
check "go mod verify" go mod verify
exit "$status"

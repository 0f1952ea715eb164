#!/usr/bin/env bash
# The whole test suite; "make test" calls it. Every part runs, whatever failed before it; the end lists them all.
# A part that cannot run here is skipped loudly; with CI=true that counts as a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. test/lib.sh
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"

passed=0 failed=0 skipped=0 report=

part() { # NAME COMMAND...
	local name=$1 start=$SECONDS status word
	shift
	printf '\n== %s\n' "$name"
	("$@") </dev/null
	status=$?
	case $status in
	0) word=ok passed=$((passed + 1)) ;;
	77) if [ "${CI:-}" = true ]; then word=FAIL-SKIPPED failed=$((failed + 1)); else word=SKIPPED skipped=$((skipped + 1)); fi ;;
	*) word=FAIL failed=$((failed + 1)) ;;
	esac
	report+=$(printf '%-13s %-32s %4d s' "$word" "$name" $((SECONDS - start)))$'\n'
}

# Packages whose tests play with the plant, or with wires, in real time: one after the other, so that none is starved by the others.
real_time='/(internal/(app|invoke|mcpserver|localapi|hal/modbus|sim)(/.*)?|cmd/capd)$'

vet() {
	go vet ./... && go -C test/bench vet ./...
}

race() {
	need gcc gcc libc6-dev # the race detector is C
	export CGO_ENABLED=1
	local status=0
	go list ./... | grep -Ev "$real_time" | xargs go test -race || status=1
	go list ./... | grep -E "$real_time" | xargs go test -race -p 1 || status=1
	return $status
}

tour() { # KIND: plays it, and shows all of it only when a step is not as expected
	local log
	log=$(mktemp)
	if bin/capd demo "$1" >"$log" 2>&1; then
		tail -n 1 "$log"
	else
		cat "$log"
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

command -v go >/dev/null || { echo "go is missing: install Go $(sed -n 's/^go //p' go.mod) or later" >&2; exit 1; }

part "go vet" vet
part "go test -race" race
part "go test, 386" test/run386.sh
part "soak of Modbus, one minute" env CAPD_SOAK=1m go test -count=1 -run '^TestSoak' -parallel 8 -timeout 10m ./internal/hal/modbus
part "make build" make --no-print-directory build
part "capd demo --script" tour --script
part "capd demo --faults" tour --faults
for script in test/peers/*/run.sh; do
	[ -e "$script" ] || continue
	part "${script%/run.sh}" bash "$script"
done
part "make cross" make --no-print-directory cross
part test/systemd bash test/systemd/run.sh

printf '\n%s%d passed, %d failed, %d skipped\n' "$report" "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]

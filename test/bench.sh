#!/usr/bin/env bash
# The figures of docs/performance.md: "make bench" prints them. Needs a quiet machine; takes about two minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. test/lib.sh

bench() { # PACKAGE PATTERN [TIME]
	go test -run '^$' -bench "$2" -benchmem -benchtime "${3:-2s}" "./$1" | grep -E '^(Benchmark|cpu:)|FAIL' || true
}

echo "== in process: admission of a call, a cached read through the corridor"
GOMAXPROCS=1 bench internal/invoke 'BenchmarkAdmission|BenchmarkRead$'
echo "== over loopback HTTP: tools/call of a cached read against a bare mcp-go server; tools/list of 1,000 contracts"
bench internal/mcpserver 'CallOfARead|ListWith'
echo "== start to ready"
bench internal/app StartToReady 3x
echo "== the resolver"
bench internal/resolve 'BenchmarkResolve' 1s
echo "== the journal: synced appends, alone and shared"
bench internal/journal 'Append' 1s
echo "== Modbus TCP on loopback"
bench internal/hal/modbus 'TenRegisters'

echo "== size and idle memory"
make --no-print-directory build >/dev/null
make --no-print-directory cross
ready=$(mktemp -d)
bin/capd demo --listen 127.0.0.1:0 --ready-file "$ready/ready.json" >/dev/null &
demo=$!
trap 'kill -INT "$demo" 2>/dev/null || true; wait "$demo" 2>/dev/null || true; rm -rf "$ready"' EXIT
for _ in $(seq 100); do [ -s "$ready/ready.json" ] && break; sleep 0.1; done
sleep 10 # idle: polls only
daemon=$(pgrep -P "$demo" | head -1)
awk '/VmRSS/ {printf "idle memory of the daemon, demo configuration: %.1f MB\n", $2 / 1000}' "/proc/$daemon/status"

#!/usr/bin/env bash
# The MCP conformance suites against capd's own endpoint, with an operator's token: the scenarios of scenarios.tsv.
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need jq jq
need_node
npm_install conformance @modelcontextprotocol/conformance@0.1.16
released=$npm_modules/@modelcontextprotocol/conformance/dist/index.js
npm_install conformance-next @modelcontextprotocol/conformance@0.2.0-alpha.12
next=$npm_modules/@modelcontextprotocol/conformance/dist/index.js
need_capd
start_demo --speed 4

# The suites cannot send a token.
start proxy "$node" "$here/proxy.mjs" "$url" "$token" "$work/port"
until_true 10 test -s "$work/port" || die "the proxy did not start: $(cat "$work/proxy.log")"

suite() { # NAME PROGRAM OPTIONS...: its exit status counts scenarios that capd need not pass
	limit 60 "$node" "$2" server --url "http://127.0.0.1:$(cat "$work/port")/mcp" "${@:3}" --output-dir "$work/results/$1" >"$work/$1.log" 2>&1 </dev/null
}
suite 0.1 "$released" --suite all
suite 2025-03-26 "$next" --spec-version 2025-03-26
suite 2025-06-18 "$next" --spec-version 2025-06-18
suite 2025-11-25 "$next" --requirements 2025-11-25
suite 2026-07-28 "$next" --requirements 2026-07-28
judge "$node" "$here/judge.mjs" "$here/scenarios.tsv" "$work/results"
finish

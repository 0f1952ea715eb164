#!/usr/bin/env bash
# The MCP inspector, a client that others wrote, lists and calls the tools of the demo, over HTTP and through "capd mcp".
# shellcheck source=test/peers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need jq jq
need_node
npm_install inspector @modelcontextprotocol/inspector@2.12.0
launcher=$npm_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
need_capd
start_demo --speed 4
export HOME=$work # the inspector keeps files there

inspect() { limit 30 "$node" "$launcher" --cli --format json -q "$@" </dev/null; }
over_http() { # TOKEN OPTIONS...
	inspect --server-url "$url" --transport http --stored-auth-only --header "Authorization: Bearer $1" "${@:2}"
}
over_stdio() { inspect --transport stdio "$@" -- "$capd" mcp --url "$url" --token-file "$work/token"; }
echo "$token" >"$work/token"

# gives STATUS FILTER COMMAND...: the command ends with the status, and the filter of jq holds for its answer, or else for its error.
gives() {
	local status=$1 filter=$2 got problem=
	shift 2
	"$@" >"$work/answer" 2>"$work/error"
	got=$?
	[ -s "$work/answer" ] || mv "$work/error" "$work/answer"
	[ "$got" = "$status" ] || problem="exit status $got, not $status"
	jq -e "$filter" "$work/answer" >/dev/null || problem+=" not so: $filter"
	[ -z "$problem" ] || { echo "$problem"; cat "$work/answer"; return 1; }
}
call() { # WAY TOOL ARGUMENTS [OPTIONS...]
	local way=$1 tool=$2 arguments=$3
	shift 3
	$way "$@" --method tools/call --tool-name "$tool" --tool-args-json "$arguments"
}
names='[.result.tools[].name]'
own='["find_tools", "call_read", "call_action", "read_state", "explain", "list_alarms"]'

for era in legacy modern; do
	check "$era: an operator sees at most twenty tools besides the six own ones, which come first" \
		gives 0 "$names | length <= 26 and .[:6] == $own and index(\"set_discharge_valve\") != null" over_http "$token" --protocol-era $era --method tools/list
	jq -c "$names" "$work/answer" >"$work/list.$era"
	check "$era: a viewer sees no actuation" \
		gives 0 "all(.result.tools[]; .annotations.readOnlyHint) and ($names | index(\"read_level\") != null)" over_http "$viewer" --protocol-era $era --method tools/list
	check "$era: find_tools, in English" gives 0 '.result.structuredContent.tools[0].name == "set_discharge_valve"' \
		call over_http find_tools '{"query": "open the discharge valve to 60 %"}' "$token" --protocol-era $era
	check "$era: read_level is observed, with unit, quality and age" \
		gives 0 '.result.structuredContent | .verdict == "observed" and (.values.level | .unit == "m" and .quality == "good" and .value > 2 and .age_ms >= 0)' \
		call over_http read_level '{}' "$viewer" --protocol-era $era
done
check "both eras list the same tools in the same order" cmp "$work/list.legacy" "$work/list.modern"
check "no tool schema is an error to the inspector's lint" gives 0 true over_http "$token" --protocol-era modern --method tools/list --strict
check "find_tools, in Chinese" gives 0 '.result.structuredContent.tools[0].name == "set_discharge_valve"' \
	call over_http find_tools '{"query": "把出口阀开到60%"}' "$token"
check "set_discharge_valve 60 is confirmed at E4" \
	gives 0 '.result | .isError != true and (.structuredContent | .verdict == "confirmed" and .level == "E4" and .sent)' \
	call over_http set_discharge_valve '{"opening": 60}' "$token" --protocol-era modern
check "set_discharge_valve 160 is an error: OUT_OF_RANGE, with the allowed span, nothing sent" \
	gives 5 '.result | .isError and (.structuredContent | .sent == false and .reason.code == "OUT_OF_RANGE" and .reason.allowed == [0, 100])' \
	call over_http set_discharge_valve '{"opening": 160}' "$token"
check "a viewer cannot call it" gives 5 '.error.code == "tool_not_found"' call over_http set_discharge_valve '{"opening": 60}' "$viewer"
check "a wrong token is refused with 401" gives 3 '.error | .code == "auth_required" and (.message | test("\"status\":401"))' \
	over_http capd_wrong --method tools/list

check "stdio: the bridge lists the same tools" gives 0 "$names == $(cat "$work/list.legacy")" over_stdio --method tools/list
check "stdio: a read through the bridge, modern" \
	gives 0 '.result.structuredContent.verdict == "observed"' call over_stdio read_level '{}' --protocol-era modern
finish

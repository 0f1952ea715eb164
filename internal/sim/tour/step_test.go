package tour

import (
	"encoding/json"
	"strings"
	"testing"
)

func result(t *testing.T, structured string, isError bool, text string) (toolResult, answer) {
	t.Helper()
	r := toolResult{IsError: isError, Structured: json.RawMessage(structured)}
	r.Content = append(r.Content, struct {
		Text string `json:"text"`
	}{text})
	a, err := parseAnswer(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, a
}

const refusedAnswer = `{"verdict":"not_executed","level":"E0","reason":{"code":"LOCAL_MODE","layer":"policy","allowed":[25,65]}}`

func TestAStepIsOkOnlyIfEverythingIsAsExpected(t *testing.T) {
	right := want{verdict: "not_executed", level: "E0", code: "LOCAL_MODE", layer: "policy", says: []string{"remote"}, more: allowed(25, 65)}
	r, a := result(t, refusedAnswer, true, "the selector is not in remote")
	if s := right.judge(Step{}, r, a, 0); !s.OK || len(s.Missed) > 0 {
		t.Errorf("%+v", s)
	}
	for name, change := range map[string]func(*want){
		"verdict": func(w *want) { w.verdict = "refuted" },
		"level":   func(w *want) { w.level = "E4" },
		"refuted": func(w *want) { w.refutedAt = "E2" },
		"code":    func(w *want) { w.code = "BUSY" },
		"layer":   func(w *want) { w.layer = "device" },
		"writes":  func(w *want) { w.writes = 1 },
		"text":    func(w *want) { w.says = []string{"nowhere"} },
		"more":    func(w *want) { w.more = allowed(0, 1) },
		"isError": func(w *want) { w.verdict = "confirmed" },
	} {
		w := right
		change(&w)
		if s := w.judge(Step{}, r, a, 0); s.OK || len(s.Missed) == 0 {
			t.Errorf("another %s was taken for right", name)
		}
	}
}

func TestAnswersAreReadFromJSONAndFromEventStreams(t *testing.T) {
	for name, body := range map[string]string{
		"JSON":             `{"jsonrpc":"2.0","id":1,"result":{"n":7}}`,
		"an event stream":  "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":7}}\n\n",
		"the last event":   "data: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":1,\"result\":{\"n\":7}}\n\n",
		"data at the head": "data: {\"id\":1,\"result\":{\"n\":7}}\n\n",
	} {
		var got struct{ N int }
		if err := decodeAnswer([]byte(body), 200, &got); err != nil || got.N != 7 {
			t.Errorf("%s: %v %+v", name, err, got)
		}
	}
	var nothing struct{}
	if err := decodeAnswer([]byte(`{"id":1,"error":{"code":-32602,"message":"no"}}`), 200, &nothing); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("an error: %v", err)
	}
	if err := decodeAnswer([]byte("<html>"), 502, &nothing); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("no JSON: %v", err)
	}
}

func TestAListingNamesWhatIsMissingAndWhatShouldNotBeThere(t *testing.T) {
	s := listing(Step{}, []string{"a", "b", "c"}, []string{"a", "z"}, []string{"b"}, 2)
	if s.OK || len(s.Missed) != 3 {
		t.Errorf("%+v", s)
	}
	if s := listing(Step{}, []string{"a"}, []string{"a"}, []string{"b"}, 2); !s.OK {
		t.Errorf("%+v", s)
	}
}

package resolve

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// pumpStation is a small plant, its contracts written as their authors would:
// some with intents in both languages, some with a description alone.
func pumpStation() []Doc {
	return []Doc{
		{
			ID: "ps07-fcv-04/set_opening", Name: "set_discharge_valve", Title: "Discharge control valve FCV-04",
			Description: "Moves the discharge valve to an opening and waits until the position transmitter agrees.",
			Intents:     []string{"open the discharge valve to 60 %", "把出口阀开到60%"},
			Aliases:     []string{"出口调节阀", "discharge valve"},
			Tags:        []string{"valve", "flow"}, Assets: []string{"PS07-FCV-04"},
			Parameters: []string{"opening: Opening of the valve (%)"},
		},
		{
			ID: "ps07-xv-03/open", Name: "open_inlet_valve", Title: "Inlet valve XV-03",
			Description: "Opens the inlet valve and waits for its limit switch.",
			Intents:     []string{"open the inlet valve", "打开进水阀"}, Aliases: []string{"进口阀"},
			Tags: []string{"valve"}, Assets: []string{"PS07-XV-03"},
		},
		{
			ID: "ps07-xv-03/close", Name: "close_inlet_valve", Title: "Inlet valve XV-03",
			Description: "Closes the inlet valve and waits for its limit switch.",
			Intents:     []string{"shut off the inlet", "关闭进水阀"}, Aliases: []string{"进口阀"},
			Tags: []string{"valve"}, Assets: []string{"PS07-XV-03"},
		},
		{
			ID: "ps07-lt-01/read", Name: "read_level", Title: "Wet well level LT-01",
			Description: "Reads the water level of the wet well in metres.",
			Tags:        []string{"level"}, Assets: []string{"PS07-LT-01"},
		},
		{
			ID: "ps07-ft-01/read", Name: "read_flow", Title: "Discharge flow FT-01",
			Description: "Reads the flow in the discharge pipe in m³/h.",
			Tags:        []string{"flow"}, Assets: []string{"PS07-FT-01"},
		},
		{
			ID: "ps07-p-01/start", Name: "start_pump", Title: "Main pump P-01",
			Description: "Starts the main pump and checks that it delivers.",
			Tags:        []string{"pump"}, Assets: []string{"PS07-P-01"},
		},
		{
			ID: "ps07-p-01/stop", Name: "stop_pump", Title: "Main pump P-01",
			Description: "Stops the main pump and checks that the flow falls.",
			Tags:        []string{"pump"}, Assets: []string{"PS07-P-01"},
		},
		{
			ID: "ps07-vfd-01/set_speed", Name: "set_pump_speed", Title: "Frequency converter of pump P-01",
			Description: "Sets the speed of the pump motor and waits for the encoder.",
			Tags:        []string{"pump"}, Assets: []string{"PS07-VFD-01"},
		},
		{
			ID: "ps07-gate/open", Name: "open_gate", Title: "Yard gate",
			Description: "Opens the yard gate and looks at its end switch.", Tags: []string{"access"},
		},
		{
			ID: "ps07-cam-02/snapshot", Name: "take_snapshot", Title: "Yard camera",
			Description: "Takes a picture of the yard.", Tags: []string{"vision"},
		},
		{
			ID: "ps07-alarms/list", Name: "list_alarms", Title: "Alarms",
			Description: "Lists the active alarms of the station with severity and time.",
		},
	}
}

func ids(tools []Resolved) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.ID)
	}
	return out
}

func TestAnAgentFindsTheToolItMeans(t *testing.T) {
	ix := NewIndex(pumpStation())
	for query, want := range map[string]string{
		"open the discharge valve":                      "ps07-fcv-04/set_opening",
		"please open the outlet valve a bit more":       "ps07-fcv-04/set_opening",
		"set discharge valve to 60 percent":             "ps07-fcv-04/set_opening",
		"throttle FCV-04":                               "ps07-fcv-04/set_opening",
		"set_discharge_valve":                           "ps07-fcv-04/set_opening",
		"把出口阀开到60%":                                     "ps07-fcv-04/set_opening",
		"请帮我打开出口阀":                                      "ps07-fcv-04/set_opening",
		"出口阀门开大一点":                                      "ps07-fcv-04/set_opening",
		"调节排出阀的开度":                                      "ps07-fcv-04/set_opening",
		"Auslassventil auf 60 % öffnen":                 "ps07-fcv-04/set_opening",
		"Auslassventil oeffnen":                         "ps07-fcv-04/set_opening",
		"open xv03":                                     "ps07-xv-03/open",
		"关闭进水阀":                                         "ps07-xv-03/close",
		"how full is the wet well?":                     "ps07-lt-01/read",
		"现在液位是多少":                                       "ps07-lt-01/read",
		"Füllstand lesen":                               "ps07-lt-01/read",
		"what is the flow rate":                         "ps07-ft-01/read",
		"读一下流量":                                         "ps07-ft-01/read",
		"启动主泵":                                          "ps07-p-01/start",
		"停泵":                                            "ps07-p-01/stop",
		"Pumpe abschalten":                              "ps07-p-01/stop",
		"水泵转速调到900转":                                    "ps07-vfd-01/set_speed",
		"开门":                                            "ps07-gate/open",
		"拍张院子的照片":                                       "ps07-cam-02/snapshot",
		"有什么报警":                                         "ps07-alarms/list",
		"which alerts are active":                       "ps07-alarms/list",
		"take a photo with the camera":                  "ps07-cam-02/snapshot",
		"stopping the pumps":                            "ps07-p-01/stop",
		"ＦＣＶ－０４":                                        "ps07-fcv-04/set_opening",
		"Drehzahl der Pumpe ändern":                     "ps07-vfd-01/set_speed",
		strings.Repeat("discharge valve please. ", 900): "ps07-fcv-04/set_opening",
	} {
		got := ix.Resolve(Request{Query: query, TopK: 3}).Tools
		if len(got) == 0 || got[0].ID != want {
			t.Errorf("%.60q: got %v, want %s first; why: %+v", query, ids(got), want, got)
		}
	}
}

func TestWhyNamesFieldsAndTheCallersWords(t *testing.T) {
	ix := NewIndex(pumpStation())
	for _, c := range []struct{ query, want string }{
		{"出口阀", "intents: 出口阀"},
		{"discharge valve", "name: discharge valve"},
		{"FCV-04", "title: FCV-04"},
		{"Auslass", "intents: Auslass ~ outlet"},
	} {
		got := ix.Resolve(Request{Query: c.query, TopK: 1}).Tools
		if len(got) == 0 || !slices.Contains(got[0].Why, c.want) {
			t.Errorf("%q: got %+v, want %q among the reasons", c.query, got, c.want)
		}
	}
	got := ix.Resolve(Request{Query: "valve", TopK: 1, Tags: []string{"Flow"}}).Tools[0]
	if want := "profile tag: flow"; !slices.Contains(got.Why, want) {
		t.Errorf("got %v, want %q", got.Why, want)
	}
}

func TestPolicyComesFirst(t *testing.T) {
	ix := NewIndex(pumpStation())
	res := ix.Resolve(Request{
		Query: "valve", TopK: 12, Pinned: []string{"ps07-xv-03/open", "ps07-alarms/list"},
		Allowed: func(id string) (bool, string) {
			switch {
			case strings.HasSuffix(id, "/open"):
				return false, "role viewer"
			case strings.Contains(id, "fcv"):
				return false, "scope"
			}
			return true, ""
		},
	})
	if got, want := ids(res.Tools), []string{"ps07-alarms/list", "ps07-xv-03/close"}; !slices.Equal(got, want) {
		t.Errorf("tools: got %v, want %v", got, want)
	}
	if want := map[string]int{"role viewer": 2, "scope": 1}; !reflect.DeepEqual(res.Removed, want) {
		t.Errorf("removed: got %v, want %v", res.Removed, want)
	}
	if res.Total != 11 || res.Filtered != 8 {
		t.Errorf("got total %d, filtered %d; want 11, 8", res.Total, res.Filtered)
	}
}

func TestPinnedToolsTakeNoPlace(t *testing.T) {
	ix := NewIndex(pumpStation())
	res := ix.Resolve(Request{
		Query: "valve", TopK: 2,
		Pinned: []string{"ps07-lt-01/read", "unknown", "ps07-fcv-04/set_opening", "ps07-lt-01/read"},
	})
	want := []string{"ps07-lt-01/read", "ps07-fcv-04/set_opening", "ps07-xv-03/open", "ps07-xv-03/close"}
	if got := ids(res.Tools); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, stage := range []string{StagePinned, StagePinned, StageRanked, StageRanked} {
		if res.Tools[i].Stage != stage {
			t.Errorf("%s: got stage %s, want %s", res.Tools[i].ID, res.Tools[i].Stage, stage)
		}
	}
	if res.Tools[0].Score != 0 || res.Tools[0].Why != nil {
		t.Errorf("a pinned tool without a match has score %v and reasons %v", res.Tools[0].Score, res.Tools[0].Why)
	}
}

func TestNothingFoundLeavesThePinned(t *testing.T) {
	ix := NewIndex(pumpStation())
	for _, query := range []string{"xyzzy", "?!", "the of"} {
		res := ix.Resolve(Request{Query: query, TopK: 12, Pinned: []string{"ps07-alarms/list"}})
		if got := ids(res.Tools); !slices.Equal(got, []string{"ps07-alarms/list"}) {
			t.Errorf("%q: got %v", query, got)
		}
	}
	res := ix.Resolve(Request{Query: "valve", TopK: 12, Allowed: func(string) (bool, string) { return false, "tenant" }})
	if len(res.Tools) != 0 || res.Filtered != 0 || res.Removed["tenant"] != ix.Len() {
		t.Errorf("got %+v, want no tools and %d removed by tenant", res, ix.Len())
	}
}

func TestBlankQueryListsByID(t *testing.T) {
	ix := NewIndex(pumpStation())
	res := ix.Resolve(Request{Query: " \n", TopK: 3})
	want := []string{"ps07-alarms/list", "ps07-cam-02/snapshot", "ps07-fcv-04/set_opening"}
	if got := ids(res.Tools); !slices.Equal(got, want) || res.Tools[0].Stage != StageAll {
		t.Errorf("got %v in stage %s, want %v in stage %s", got, res.Tools[0].Stage, want, StageAll)
	}
}

func TestProfileTagsBoostButDoNotAdd(t *testing.T) {
	ix := NewIndex([]Doc{
		{ID: "a", Name: "read_level", Tags: []string{"plant"}},
		{ID: "b", Name: "read_level", Tags: []string{"water"}},
		{ID: "c", Name: "open_gate", Tags: []string{"water"}},
	})
	if got := ids(ix.Resolve(Request{Query: "level", TopK: 9}).Tools); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("without profile: got %v", got)
	}
	got := ids(ix.Resolve(Request{Query: "level", TopK: 9, Tags: []string{"Water", "water"}}).Tools)
	if !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("with profile tag: got %v", got)
	}
}

func TestMoreIntentsCostNothing(t *testing.T) {
	few := Doc{ID: "b", Name: "open_gate", Intents: []string{"let the truck in"}}
	many := Doc{ID: "a", Name: "open_gate", Intents: []string{"open yard", "进车", "let the truck in"}}
	got := NewIndex([]Doc{few, many}).Resolve(Request{Query: "let the truck in", TopK: 2}).Tools
	if len(got) != 2 || got[0].Score != got[1].Score {
		t.Errorf("got %+v, want equal scores", got)
	}
}

func TestEmptyIndexAndDuplicates(t *testing.T) {
	if res := NewIndex(nil).Resolve(Request{Query: "valve", TopK: 5, Pinned: []string{"x"}}); len(res.Tools) != 0 {
		t.Errorf("empty index: got %v", res.Tools)
	}
	ix := NewIndex([]Doc{{ID: "x", Name: "first"}, {ID: "x", Name: "second"}})
	if ix.Len() != 1 || len(ix.Resolve(Request{Query: "second", TopK: 5}).Tools) != 0 {
		t.Errorf("of two documents with one ID the first must count")
	}
}

// TestOrderAndLimits draws requests and checks what holds for every one.
func TestOrderAndLimits(t *testing.T) {
	docs := plantDocs(300)
	ix := NewIndex(docs)
	shuffled := slices.Clone(docs)
	r := rand.New(rand.NewSource(1))
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	other := NewIndex(shuffled)
	words := strings.Fields("valve pump open 阀门 输送带 液位 station-3 17 camera stop 停止 PS02 the Ventil level zzz")
	for range 300 {
		req := Request{TopK: r.Intn(20) - 2}
		for range r.Intn(5) {
			req.Query += words[r.Intn(len(words))] + " "
		}
		for range r.Intn(3) {
			req.Pinned = append(req.Pinned, docs[r.Intn(len(docs))].ID)
		}
		denied := docs[r.Intn(len(docs))].ID
		req.Allowed = func(id string) (bool, string) { return id != denied, "denied" }
		res := ix.Resolve(req)
		if again := other.Resolve(req); !reflect.DeepEqual(res, again) {
			t.Fatalf("%+v: the order of the documents changed the answer:\n%+v\n%+v", req, res, again)
		}
		if err := checkResult(req, res); err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		if slices.Contains(ids(res.Tools), denied) {
			t.Fatalf("%+v: %s is listed though the policy refused it", req, denied)
		}
	}
}

// checkResult tests what every answer promises.
func checkResult(req Request, res Result) error {
	seen := map[string]bool{}
	rest := 0
	for i, tool := range res.Tools {
		if seen[tool.ID] {
			return fmt.Errorf("%s twice", tool.ID)
		}
		seen[tool.ID] = true
		if tool.Stage == StagePinned {
			if !slices.Contains(req.Pinned, tool.ID) || rest > 0 {
				return fmt.Errorf("%s is not pinned, or behind others", tool.ID)
			}
			continue
		}
		rest++
		if tool.Stage == StageRanked && (tool.Score <= 0 || len(tool.Why) == 0) {
			return fmt.Errorf("%s is ranked without a reason", tool.ID)
		}
		if rest > 1 {
			before := res.Tools[i-1]
			if before.Score < tool.Score || before.Score == tool.Score && before.ID >= tool.ID {
				return fmt.Errorf("%s stands before %s", before.ID, tool.ID)
			}
		}
	}
	if rest > max(0, req.TopK) {
		return fmt.Errorf("%d tools besides the pinned, limit %d", rest, req.TopK)
	}
	return nil
}

func FuzzResolve(f *testing.F) {
	ix := NewIndex(pumpStation())
	f.Add("把出口阀开到60% please", 3)
	f.Add("XV-03 öffnen\xff", 0)
	f.Add("阀\xe9\x98", -1)
	f.Fuzz(func(t *testing.T, query string, k int) {
		req := Request{Query: query, TopK: k, Pinned: []string{"ps07-gate/open"}}
		res := ix.Resolve(req)
		if err := checkResult(req, res); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(res, ix.Resolve(req)) {
			t.Error("two answers to one request")
		}
	})
}

package resolve

import (
	"fmt"
	"testing"
)

// plantDocs are n contracts as a plant has them: some kinds of machine, each
// many times, told apart by tag and place.
func plantDocs(n int) []Doc {
	machines := []struct{ name, alias, what, zh string }{
		{"discharge_valve", "出口调节阀", "discharge valve", "出口阀"},
		{"feed_pump", "给水泵", "feed pump", "给水泵"},
		{"conveyor", "输送带", "conveyor belt", "输送带"},
		{"tank_level", "储罐液位", "tank level", "液位"},
		{"gate", "大门", "yard gate", "大门"},
		{"camera", "摄像头", "yard camera", "摄像头"},
		{"oven_zone", "烘箱加热区", "oven heating zone", "加热区"},
		{"agitator", "搅拌机", "agitator of the reactor", "搅拌机"},
	}
	verbs := []struct{ name, en, zh string }{
		{"set", "Moves the %s to a value and waits until the transmitter agrees.", "调节%s"},
		{"read", "Reads what the sensor of the %s measures now, with unit and quality.", "读取%s"},
		{"stop", "Brings the %s to the safe side and checks that it stands still.", "停止%s"},
	}
	docs := make([]Doc, n)
	for i := range docs {
		m, v, station := machines[i%len(machines)], verbs[i/len(machines)%len(verbs)], i/24
		docs[i] = Doc{
			ID:          fmt.Sprintf("ps%02d-%s-%02d/%s", station%40, m.name, i, v.name),
			Name:        fmt.Sprintf("%s_ps%02d_%s_%02d", v.name, station%40, m.name, i),
			Title:       fmt.Sprintf("%s %02d of station %d", m.what, i, station%40),
			Description: fmt.Sprintf(v.en, m.what),
			Intents:     []string{v.name + " the " + m.what, fmt.Sprintf(v.zh, m.zh)},
			Aliases:     []string{m.alias, m.what},
			Tags:        []string{m.name, fmt.Sprintf("station-%d", station%40)},
			Assets:      []string{fmt.Sprintf("PS%02d-FCV-%02d", station%40, i)},
			Parameters:  []string{"value: where to move to; request_id: repeats are answered from the journal"},
		}
	}
	return docs
}

func sizes(b *testing.B, run func(b *testing.B, docs []Doc)) {
	for _, n := range []int{100, 1000, 2000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) { run(b, plantDocs(n)) })
	}
}

func BenchmarkResolve(b *testing.B) {
	queries := []struct{ name, text string }{
		{"short", "stop feed pump 17"},
		{"chinese", "把三号泵站的出口阀开到60%"},
		{"long", "The operator of station 12 wants the discharge valve a little further open, so please find whatever " +
			"moves it and tell me what the tank level sensor reads before and after the change"},
		{"blank", ""},
	}
	sizes(b, func(b *testing.B, docs []Doc) {
		ix := NewIndex(docs)
		for _, q := range queries {
			b.Run(q.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ix.Resolve(Request{Query: q.text, TopK: 12, Pinned: []string{docs[0].ID}, Tags: []string{"station-3"}})
				}
			})
		}
	})
}

func BenchmarkNewIndex(b *testing.B) {
	sizes(b, func(b *testing.B, docs []Doc) {
		b.ReportAllocs()
		for b.Loop() {
			NewIndex(docs)
		}
	})
}

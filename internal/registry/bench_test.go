package registry

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// thousand writes 1,000 contracts of one read and one actuation each.
func thousand(b *box) {
	b.write("assets.d/plant.yaml", plant)
	for i := range 1000 {
		b.write(fmt.Sprintf("contracts.d/valve-%04d.yaml", i), strings.Replace(moving()+readAction, "tool: valve", fmt.Sprintf("tool: valve-%04d", i), 1))
	}
}

// BenchmarkLoadAThousandContracts is what a start costs: read the folders, check everything, save nothing new, publish.
func BenchmarkLoadAThousandContracts(bench *testing.B) {
	b := newBox(bench)
	thousand(b)
	b.publish()
	for bench.Loop() {
		b.restart()
		if s := b.publish(); len(s.Actions) != 2000 {
			bench.Fatalf("%d actions, rejected %v", len(s.Actions), s.Rejected)
		}
	}
	bench.ReportMetric(float64(heapOf(b))/1e6, "MB-kept")
}

// heapOf is what the heap holds with the snapshot less what it holds without.
func heapOf(b *box) int64 {
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	b.active.Store(emptySnapshot())
	runtime.GC()
	runtime.ReadMemStats(&without)
	return int64(with.HeapAlloc) - int64(without.HeapAlloc)
}

func BenchmarkCheckArguments(bench *testing.B) {
	p := params(bench, parameters, "actuate")
	args := map[string]any{"opening": 60.0}
	for bench.Loop() {
		if _, r := p.Check(args); r != nil {
			bench.Fatal(r)
		}
	}
}

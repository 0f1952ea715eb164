package journal

import (
	"strings"
	"sync"
	"testing"
)

// benchAppend reports durable appends per second and how many share a sync.
func benchAppend(b *testing.B, callers int) {
	j := open(b, newDir(b), Options{})
	payload := note{1, strings.Repeat("x", 500)}
	work := make(chan struct{}, b.N)
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	b.ResetTimer()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range work {
				if _, err := j.Append(b.Context(), Outcome, payload); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	s := j.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(s.Appends)/float64(s.Syncs), "appends/sync")
	closeNow(b, j)
}

func BenchmarkAppend1(b *testing.B)  { benchAppend(b, 1) }
func BenchmarkAppend16(b *testing.B) { benchAppend(b, 16) }

func BenchmarkAppendAdvisory(b *testing.B) {
	j := open(b, newDir(b), Options{})
	payload := note{1, strings.Repeat("x", 500)}
	for b.Loop() {
		if _, err := j.AppendAdvisory(b.Context(), Progress, payload); err != nil {
			b.Fatal(err)
		}
	}
	closeNow(b, j)
}

// BenchmarkOpen is the verified start over 16 MiB of records of 500 bytes.
func BenchmarkOpen(b *testing.B) {
	dir := newDir(b)
	j := open(b, dir, Options{})
	for range 16 << 20 / 600 {
		if _, err := j.AppendAdvisory(b.Context(), Progress, note{1, strings.Repeat("x", 500)}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(j.Stats().Bytes)
	closeNow(b, j)
	for b.Loop() {
		closeNow(b, open(b, dir, Options{}))
	}
}

package field

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

const twoLinks = `
links:
  L: {transport: fake, port: 1}
  M: {transport: fake, port: 2}
devices: {D: {link: L}, E: {link: L}, F: {link: M}}
assets:
  A:
    device: D
    points:
      x: {at: {place: 1}, scale: 0.1, unit: bar, role: setpoint, access: read_write}
      y: {at: {place: 2}, role: status}
      e: {device: E, at: {place: 1}, role: status}
      f: {device: F, at: {place: 1}, role: status}
      w: {at: {place: 9}, role: setpoint, access: write}
`

// twoLinksFake has a value for each readable point of twoLinks.
func twoLinksFake() *fakeDriver {
	f := newFake()
	f.set("D", 1, physical.IntOf(15))
	f.set("D", 2, physical.IntOf(2))
	f.set("E", 1, physical.IntOf(3))
	f.set("F", 1, physical.IntOf(4))
	return f
}

func TestReadAnswersEveryRefInOneBatchPerDevice(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	got := field.Read(t.Context(), []string{"A.x", "A.e", "A.y", "A.x", "A.z", "A.f"})
	want := map[string]string{"A.x": "1.5", "A.y": "2", "A.e": "3", "A.f": "4"}
	for ref, text := range want {
		if r := got[ref]; !r.Good() || r.Value.String() != text {
			t.Errorf("%s is %+v, want %s", ref, r, text)
		}
	}
	if r := got["A.z"]; r.Quality != physical.Bad || !strings.Contains(r.Detail, `there is no point "A.z"`) || len(got) != 5 {
		t.Errorf("the unknown point is %+v of %d", r, len(got))
	}
	points := map[string]int{}
	for _, b := range f.seen() {
		points[b.device] += b.points
	}
	if len(f.seen()) != 3 || points["D"] != 2 {
		t.Errorf("batches %v", f.seen())
	}
	f.set("D", 2, physical.IntOf(7))
	if r := field.Read(t.Context(), []string{"A.y"})["A.y"]; r.Value.String() != "7" {
		t.Errorf("the second read gave %s: it is not fresh", r.Value)
	}
}

func TestLinksAreReadInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = time.Second
		field := start(t, f, Options{}, twoLinks)
		began := time.Now()
		field.Read(t.Context(), []string{"A.x", "A.f"})
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s, want 1s", took)
		}
	})
}

func TestReadSaysWhyThereIsNoValue(t *testing.T) {
	tests := map[string]struct {
		spoil func(*fakeDriver)
		cause physical.Cause
		text  string
	}{
		"the device is silent":     {func(f *fakeDriver) { f.breakDown("D", &hal.Error{Kind: hal.Timeout, MaySent: true}) }, physical.CauseOffline, "timeout"},
		"the device refuses":       {func(f *fakeDriver) { f.breakDown("D", &hal.Error{Kind: hal.Exception, MaySent: true}) }, physical.CauseWire, "exception"},
		"the link cannot be made":  {func(f *fakeDriver) { f.refuse = errors.New("no such port") }, physical.CauseOffline, "no such port"},
		"the driver loses samples": {func(f *fakeDriver) { f.lose = true }, physical.CauseWire, "driver fake gave 0 samples for 1 points"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := twoLinksFake()
			field := start(t, f, Options{}, twoLinks)
			tt.spoil(f)
			r := field.Read(t.Context(), []string{"A.x"})["A.x"]
			if r.Quality != physical.Bad || r.Cause != tt.cause || !strings.Contains(r.Detail, tt.text) || !r.Value.IsZero() || r.Unit != "bar" {
				t.Errorf("got %+v", r)
			}
			if last, ok := field.Last("A.x"); !ok || last.Cause != tt.cause {
				t.Errorf("the last reading is %+v", last)
			}
		})
	}
}

func TestAGivenUpReadSaysNothingAboutTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, twoLinks)
		field.Read(t.Context(), []string{"A.y"})
		f.latency = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if r := field.Read(ctx, []string{"A.y"})["A.y"]; r.Quality != physical.Bad {
			t.Errorf("the caller got %+v", r)
		}
		if r, _ := field.Last("A.y"); !r.Good() {
			t.Errorf("the last reading became %+v", r)
		}
	})
}

func TestWriteSendsTheRawValueOnce(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	ack, err := field.Write(t.Context(), "A.x", number("2.5"))
	if err != nil || string(ack.Raw) != "\x00\x19" {
		t.Fatalf("got %+v, %v", ack, err)
	}
	if len(f.writes) != 1 || f.writes[0] != "D integer 1 = 25" {
		t.Errorf("written %q", f.writes)
	}
	encoded, err := field.Encode("A.x", number("2.5"))
	if err != nil || string(encoded) != string(ack.Raw) || string(field.Read(t.Context(), []string{"A.x"})["A.x"].Raw) != string(encoded) {
		t.Errorf("encoded %x, %v, acknowledged %x, and read back something else", encoded, err, ack.Raw)
	}
}

func TestWhatCannotBeWrittenIsNotSent(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	tests := map[string]struct {
		ref  string
		v    physical.Value
		want string
	}{
		"unknown":           {"A.xx", physical.IntOf(1), `write A.xx on no device: bad_address: there is no point "A.xx" in the active inventory; did you mean A.`},
		"read only":         {"A.y", physical.IntOf(1), "write A.y on D: bad_address: A.y is read only"},
		"between two steps": {"A.x", number("0.15"), "the nearest values are 0.1 and 0.2"},
		"wrong kind":        {"A.x", physical.FlagOf(true), "A.x takes a number, not the boolean"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := field.Write(t.Context(), tt.ref, tt.v)
			e := hal.AsError(err)
			if e == nil || e.Kind != hal.BadAddress || e.MaySent || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
			if _, err := field.Preview(tt.ref, tt.v); err == nil {
				t.Error("it can be previewed")
			}
		})
	}
	f.refuse = errors.New("no such port")
	if _, err := field.Write(t.Context(), "A.x", number("1")); hal.AsError(err) == nil || hal.AsError(err).MaySent {
		t.Errorf("without a link: %v", err)
	}
	if _, err := field.Preview("A.x", number("1")); err == nil {
		t.Error("without a link it can be previewed")
	}
	if _, err := field.Encode("A.xx", number("1")); err == nil {
		t.Error("an unknown point can be encoded")
	}
	if len(f.writes) != 0 {
		t.Errorf("written %q", f.writes)
	}
}

func TestALostReplyMayHaveBeenSent(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	f.breakDown("D", &hal.Error{Kind: hal.Timeout, MaySent: true, Device: "D", Op: "write"})
	_, err := field.Write(t.Context(), "A.x", number("1"))
	if e := hal.AsError(err); e == nil || e.Kind != hal.Timeout || !e.MaySent {
		t.Errorf("got %v", err)
	}
}

func TestPreviewShowsTheFrameAndSendsNothing(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	text, err := field.Preview("A.x", number("2.5"))
	if err != nil || text != "D integer 1 = 25" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, open, _ := f.counts(); open != 0 || len(f.writes) != 0 {
		t.Errorf("%d connections are open, written %q", open, f.writes)
	}
}

func TestAFieldWithoutABindingKnowsNoPoint(t *testing.T) {
	field := New(slog.New(slog.DiscardHandler), Options{Poll: true})
	check := func(when string) {
		t.Helper()
		if r := field.Read(t.Context(), []string{"A.x"})["A.x"]; r.Quality != physical.Bad || r.Detail == "" {
			t.Errorf("%s: read %+v", when, r)
		}
		if _, ok := field.Last("A.x"); ok {
			t.Errorf("%s: there is a last reading", when)
		}
		if field.Alive("D").Watched || len(field.Stats()) != 0 {
			t.Errorf("%s: there are devices", when)
		}
	}
	check("before the first binding")
	f := twoLinksFake()
	if err := field.Apply(t.Context(), bound(t, f, twoLinks)); err != nil {
		t.Fatal(err)
	}
	field.Read(t.Context(), []string{"A.x"})
	stop(t, field)
	check("after Close")
	if err := field.Apply(t.Context(), bound(t, f, twoLinks)); !errors.Is(err, errClosed) {
		t.Errorf("a binding after Close: %v", err)
	}
	if opened, open, _ := f.counts(); opened != 1 || open != 0 {
		t.Errorf("%d opened, %d still open", opened, open)
	}
}

func TestStatsShowLinksAndDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, twoLinks)
		f.breakDown("E", &hal.Error{Kind: hal.Timeout, MaySent: true})
		field.Read(t.Context(), []string{"A.x", "A.y", "A.e"})
		at := time.Now()
		if _, err := field.Write(t.Context(), "A.x", number("1")); err != nil {
			t.Fatal(err)
		}
		stats := field.Stats()
		if len(stats) != 2 || stats[0].ID != "L" || !stats[0].Open || stats[1].Open || stats[0].Stats.Transactions != 3 || stats[0].Transport != "fake" {
			t.Fatalf("got %+v", stats)
		}
		d, e := stats[0].Devices[0], stats[0].Devices[1]
		if d.ID != "D" || d.Points != 3 || d.Bad != 0 || d.Polled != 0 || !d.LastGood.Equal(at) || !d.LastWrite.Equal(at) || !d.BackedOff.IsZero() {
			t.Errorf("D: %+v", d)
		}
		if e.ID != "E" || e.Bad != 1 || !e.LastGood.IsZero() || !e.BackedOff.After(at) {
			t.Errorf("E: %+v", e)
		}
	})
}

func BenchmarkRead20Points(b *testing.B) {
	f := newFake()
	var text strings.Builder
	text.WriteString("links: {L: {transport: fake}}\ndevices: {D: {link: L}}\nassets: {A: {device: D, points: {")
	var refs []string
	for i := range 20 {
		name := "p" + string(rune('a'+i))
		refs = append(refs, "A."+name)
		text.WriteString(name + ": {at: {place: " + number(string(rune('0'+i%10))).String() + "}, scale: 0.1, role: status}, ")
	}
	text.WriteString("}}}\n")
	for i := range 10 {
		f.set("D", i, physical.IntOf(int64(i)))
	}
	field := start(b, f, Options{}, text.String())
	ctx := context.WithoutCancel(b.Context())
	b.Run("fresh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			field.Read(ctx, refs)
		}
	})
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			field.ReadCached(ctx, refs, time.Hour)
		}
	})
}

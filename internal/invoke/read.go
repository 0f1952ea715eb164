package invoke

import (
	"context"
	"fmt"
	"strings"
	"time"

	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/verify"
)

// maxReadAge is how old a polled reading may be to answer a read.
const maxReadAge = 2 * time.Second

// read answers a read action from readings that are young enough, else afresh.
func (c *Corridor) read(ctx context.Context, a *registry.Action) Answer {
	refs := make([]string, len(a.Returned))
	for i, p := range a.Returned {
		refs[i] = p.Ref
	}
	started := time.Now()
	readings := c.machine.ReadCached(ctx, refs, maxReadAge)
	return readAnswer(a.Name, a.Contract.Asset, a.Returned, readings, started)
}

// ReadState answers the points of one asset, or one point, for read_state. The caller has already been judged.
func (c *Corridor) ReadState(ctx context.Context, asset *inventory.Asset, points []*inventory.Point) Answer {
	var returned []verify.Point
	var refs []string
	for _, p := range points {
		returned = append(returned, verify.Point{Alias: p.Name, Ref: p.Ref, Unit: p.Unit, Device: p.Device})
		refs = append(refs, p.Ref)
	}
	started := time.Now()
	return readAnswer("read_state", asset.ID, returned, c.machine.ReadCached(ctx, refs, maxReadAge), started)
}

func readAnswer(action, asset string, points []verify.Point, readings map[string]physical.Reading, started time.Time) Answer {
	now := time.Now()
	a := Answer{Verdict: outcome.Observed, Invocation: newID(), Action: action, Asset: asset, Values: map[string]Reading{},
		Timings: &Timings{Started: started, TotalMS: now.Sub(started).Milliseconds()}}
	for _, p := range points {
		r, ok := readings[p.Ref]
		if !ok {
			r = physical.BadReading(physical.CauseOffline, "the point was not read", started, now)
		}
		a.Values[p.Alias] = ReadingOf(p.Ref, r, now)
		if !r.Good() && a.Reason == nil {
			a.Verdict = outcome.Unknown
			a.Reason = reasonOf(badRead(p.Ref, r))
		}
	}
	a.Summary = summarize(a)
	if a.Verdict == outcome.Unknown {
		a.Summary += " " + valuesText(a.Values)
	}
	return a
}

// badRead explains a reading that is not good.
func badRead(ref string, r physical.Reading) *outcome.Refusal {
	code, layer := outcome.FeedbackBad, outcome.LayerVerification
	switch r.Cause {
	case physical.CauseOffline:
		code, layer = outcome.DeviceOffline, outcome.LayerExecution
	case physical.CauseFrozen:
		code = outcome.FeedbackFrozen
	case physical.CauseStale:
		code = outcome.FeedbackStale
	case physical.CauseWire:
		code, layer = outcome.ProtocolError, outcome.LayerExecution
	}
	refusal := outcome.Refuse(code, fmt.Sprintf("%s has no good value (%s): %s", ref, r.Cause, r.Detail))
	refusal.Layer = layer
	return refusal
}

func valuesText(values map[string]Reading) string {
	var parts []string
	for _, name := range inventory.SortedKeys(values) {
		v := values[name]
		text := fmt.Sprintf("%s = %s%s", name, v.Value, unitText(v.Unit))
		if v.Quality != physical.Good {
			text = fmt.Sprintf("%s is %s (%s)", name, v.Quality, v.Cause)
		} else if v.AgeMS >= 1000 {
			text += fmt.Sprintf(" (%.1f s old)", float64(v.AgeMS)/1000)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ") + "."
}

package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"capd/internal/inventory"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// maxSamples is how many samples of a verification are shown.
const maxSamples = 20

func sortedKeys[V any](m map[string]V) []string { return inventory.SortedKeys(m) }

// Answer is the answer to a call: the verdict, the next step, and what it stands on.
func Answer(a invoke.Answer, now time.Time) string {
	p := &page{}
	p.answer(a, now)
	return p.text()
}

func (p *page) answer(a invoke.Answer, now time.Time) {
	for line := range strings.Lines(a.Text()) {
		p.line(0, "%s", strings.TrimSuffix(line, "\n"))
	}
	if r := a.Reason; r != nil {
		if r.Allowed != nil {
			p.line(0, "Allowed now: %s to %s", r.Allowed.Low, r.Allowed.High)
		}
		if r.After != nil {
			p.line(0, "Possible again: %s (%s)", clock(*r.After, now), ago(*r.After, now))
		}
	}
	if len(a.Values) > 0 {
		p.title("VALUES")
		p.values(a.Values)
	}
	if len(a.Evidence) > 0 {
		p.title("EVIDENCE")
		p.rows(2, evidenceRows(a.Evidence))
	}
	if d := a.DryRun; d != nil {
		p.title("GATES PASSED")
		for _, g := range d.Gates {
			p.line(2, "%s", g)
		}
		p.title("WOULD BE SENT")
		for _, f := range d.Frames {
			p.line(2, "%s", f)
		}
	}
	if t := a.Timings; t != nil {
		p.blank()
		p.line(0, "Took %d ms%s.", t.TotalMS, parts(a.Sent, *t))
	}
}

// parts says where the time of a call went that sent something.
func parts(sent bool, t invoke.Timings) string {
	if !sent {
		return ""
	}
	return fmt.Sprintf(" (acting %d ms, verifying %d ms)", t.ActedMS, t.VerifyMS)
}

func (p *page) values(values map[string]invoke.Reading) {
	var rows [][]string
	for _, name := range sortedKeys(values) {
		rows = append(rows, readingRow(name, values[name]))
	}
	p.rows(2, rows)
}

// readingRow is one reading: its name, value and unit, quality with the reason, age and raw form.
func readingRow(name string, r invoke.Reading) []string {
	value := r.Value.String()
	if r.Unit != "" {
		value += " " + string(r.Unit)
	}
	quality := string(r.Quality)
	if r.Cause != "" {
		quality = strings.ToUpper(quality) + " (" + string(r.Cause) + ")"
	}
	about := []string{}
	if r.Raw != "" {
		about = append(about, "raw "+r.Raw)
	}
	if r.Detail != "" {
		about = append(about, r.Detail)
	}
	return []string{name, value, quality, span(time.Duration(r.AgeMS)*time.Millisecond) + " old", strings.Join(about, "; ")}
}

func evidenceRows(all []outcome.Evidence) [][]string {
	var rows [][]string
	for _, e := range all {
		value := e.Value.String()
		if e.Unit != "" {
			value += " " + string(e.Unit)
		}
		if e.Cause != "" {
			value = string(e.Quality) + " (" + string(e.Cause) + ")"
		}
		level, about := "", []string{}
		if e.OK != nil {
			level = e.Level.String()
		}
		if e.Expected != "" {
			about = append(about, "expected "+e.Expected)
		}
		if e.Detail != "" {
			about = append(about, e.Detail)
		}
		rows = append(rows, []string{e.Phase, e.Point, value, level, agreement(e), strings.Join(about, "; ")})
	}
	return rows
}

// agreement says in a word what a reading had to say; a sample that does not agree may still do so later.
func agreement(e outcome.Evidence) string {
	switch {
	case e.OK == nil:
		return ""
	case *e.OK:
		return "agrees"
	case e.Quality != physical.Good:
		return "says nothing"
	case e.Phase == "sample":
		return "not yet"
	default:
		return "DISAGREES"
	}
}

// Record is everything known of a call.
func Record(r invoke.Record, now time.Time) string {
	p := &page{}
	p.answer(r.Answer, now)
	p.title("CALL")
	rows := [][]string{{"asked by", r.By()}}
	if t := r.Answer.Timings; t != nil {
		rows = append(rows, []string{"asked at", clock(t.Started, now) + " (" + ago(t.Started, now) + ")"})
	}
	if r.Tool != "" {
		rows = append(rows, []string{"contract", r.Tool + "@" + r.Version})
	}
	if args, err := json.Marshal(r.Args); err == nil && len(r.Args) > 0 {
		rows = append(rows, []string{"arguments", string(args)})
	}
	p.rows(2, rows)
	p.samples(r.Samples)
	return p.text()
}

// samples shows the latest samples with their time after the first.
func (p *page) samples(all []outcome.Evidence) {
	if len(all) == 0 {
		return
	}
	p.title("SAMPLES")
	first := all[0].At
	if n := len(all) - maxSamples; n > 0 {
		p.line(2, "%d earlier ones: --json", n)
		all = all[n:]
	}
	var rows [][]string
	for i, row := range evidenceRows(all) {
		rows = append(rows, append([]string{fmt.Sprintf("%+.2f s", all[i].At.Sub(first).Seconds())}, row[1:]...))
	}
	p.rows(2, rows)
}

package show

import (
	"fmt"
	"strings"
	"time"

	"capd/internal/invoke"
	"capd/internal/localapi"
)

// Readings is a fresh read.
func Readings(r localapi.Readings) string {
	p := &page{}
	var rows [][]string
	for _, one := range r.Readings {
		rows = append(rows, readingRow(one.Point, one))
	}
	p.rows(0, rows)
	return p.text()
}

// Assets is the list of assets.
func Assets(all []localapi.Asset) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, "There are no assets in force. Put an inventory into assets.d; capd status shows files that were rejected.")
	}
	var rows [][]string
	for _, a := range all {
		state := ""
		if len(a.Lockouts) > 0 {
			state = "LOCKED"
		} else if a.Unsettled != nil {
			state = "UNSETTLED"
		}
		rows = append(rows, []string{a.ID, a.Location, state, a.Title})
	}
	p.rows(0, rows)
	return p.text()
}

// Asset is one asset with its points and their last readings.
func Asset(a localapi.Asset, now time.Time) string {
	p := &page{}
	p.line(0, "%s  %s", a.ID, a.Title)
	rows := [][]string{}
	for _, f := range [][2]string{{"class", a.Class}, {"location", a.Location}, {"device", a.Device}, {"aliases", strings.Join(a.Aliases, ", ")},
		{"tools", strings.Join(a.Tools, ", ")}} {
		if f[1] != "" {
			rows = append(rows, f[:])
		}
	}
	p.rows(2, rows)
	p.lockouts(a.Lockouts, now)
	if m := a.Unsettled; m != nil {
		p.title("UNSETTLED %s: %s", ago(m.At, now), m.Why)
	}
	if len(a.Points) > 0 {
		p.title("POINTS (last readings; capd read %s reads afresh)", a.ID)
		p.rows(2, pointRows(a.Points))
	}
	return p.text()
}

func pointRows(points []localapi.Point) [][]string {
	var rows [][]string
	for _, pt := range points {
		reading := invoke.Reading{}
		row := []string{pt.Name, "never read", "", "", ""}
		if pt.Reading != nil {
			reading = *pt.Reading
			row = readingRow(pt.Name, reading)
		}
		about := string(pt.Role)
		if pt.Access != "read" {
			about = strings.TrimSpace(about + ", " + strings.ReplaceAll(pt.Access, "_", "+"))
		}
		rows = append(rows, append([]string{row[0], about}, row[1:]...))
	}
	return rows
}

// Tools is the list of tools.
func Tools(all []localapi.Tool) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, "There is no tool that you may see. Put contracts into contracts.d; capd status shows files that were rejected.")
	}
	var rows [][]string
	for _, t := range all {
		rows = append(rows, toolRow(t))
	}
	p.rows(0, rows)
	return p.text()
}

func toolRow(t localapi.Tool) []string {
	effect := t.Effect
	if t.Effect != "read" {
		effect += ", " + t.Risk
	}
	if t.Degraded {
		effect += ", DEGRADED"
	}
	return []string{t.Name, t.Asset, effect, t.Title}
}

// Found is the answer to a search, best first; explained with the scores and what the policy removed.
func Found(f localapi.Found, explained bool) string {
	p := &page{}
	if len(f.Tools) == 0 {
		p.line(0, "Nothing fits %q. Say it in other words, or see all: capd tools list", f.Query)
	}
	for i, t := range f.Tools {
		head := fmt.Sprintf("%d. %s", i+1, t.Name)
		if explained {
			head = fmt.Sprintf("%d. %.2f  %s", i+1, t.Score, t.Name)
		}
		if t.Stage == "pinned" {
			head += "  (pinned)"
		}
		p.line(0, "%s", head)
		p.line(3, "%s", strings.Join(toolRow(t.Tool)[1:], "  "))
		for _, why := range t.Why {
			p.line(6, "%s", why)
		}
	}
	if explained {
		p.blank()
		p.line(0, "%d of %s permitted.", f.Permitted, count(f.Total, "tool"))
		for _, rule := range sortedKeys(f.Removed) {
			p.line(2, "%d removed: %s", f.Removed[rule], rule)
		}
	}
	return p.text()
}

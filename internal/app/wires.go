package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"capd/internal/field"
	"capd/internal/health"
	"capd/internal/outcome"
)

// wirePeriod is how often the links are looked at.
const wirePeriod = time.Second

// wireAlarms is what is wrong on the wires, by key: one alarm for a link on which nothing answers, whatever stands behind it, else
// one for each silent device. It is a pure function of the links' figures.
func wireAlarms(links []field.LinkStatus) map[string]health.Alarm {
	alarms := map[string]health.Alarm{}
	for _, l := range links {
		var silent, polled []string
		for _, d := range l.Devices {
			if d.Polled == 0 {
				continue
			}
			polled = append(polled, d.ID)
			if d.Silent {
				silent = append(silent, d.ID)
			}
		}
		switch {
		case len(silent) == 0:
		case l.Stats.Unreachable > 0:
			key := "link/" + l.ID
			alarms[key] = health.Alarm{Key: key, Code: outcome.NetworkUnreachable,
				Text: fmt.Sprintf("%s cannot be reached, and so none of %s; check network, port and power", l.ID, strings.Join(silent, ", "))}
		case len(silent) == len(polled) && len(polled) > 1:
			key := "link/" + l.ID
			alarms[key] = health.Alarm{Key: key, Code: outcome.DeviceOffline,
				Text: fmt.Sprintf("nothing answers on %s: %s; check the wire, its converter and its power", l.ID, strings.Join(silent, ", "))}
		default:
			for _, id := range silent {
				key := "device/" + id
				alarms[key] = health.Alarm{Key: key, Code: outcome.DeviceOffline, Text: fmt.Sprintf("%s does not answer on %s; check the device and its wire", id, l.ID)}
			}
		}
	}
	return alarms
}

// watchWires raises and clears the alarms of the wires until ctx ends.
func (k *core) watchWires(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(wirePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.reconcileWires(wireAlarms(k.field.Stats()), report)
		}
	}
}

func (k *core) reconcileWires(now map[string]health.Alarm, report func(error)) {
	active := map[string]bool{}
	for _, a := range k.alarms.List(false) {
		active[a.Key] = true
		if _, still := now[a.Key]; !still && (strings.HasPrefix(a.Key, "link/") || strings.HasPrefix(a.Key, "device/")) {
			if _, err := k.alarms.Clear(a.Key, "it answers again"); err != nil {
				report(err)
			}
		}
	}
	for key, a := range now {
		if active[key] {
			continue
		}
		if _, err := k.alarms.Raise(a); err != nil {
			report(err)
		}
	}
}

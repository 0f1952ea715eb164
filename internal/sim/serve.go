package sim

import (
	"context"
	"slices"
	"time"

	"capd/internal/sim/modbusd"
)

// gateway is the TCP side. Units that it does not have are answered at once with exception 0x0B.
type gateway struct {
	plant *Plant
	units []byte
}

// Serve implements [modbusd.Handler].
func (g gateway) Serve(ctx context.Context, unit byte, pdu []byte) []byte {
	if !slices.Contains(g.units, unit) {
		return modbusd.Refuse(pdu, modbusd.GatewayTargetFailed)
	}
	return g.plant.request(ctx, unit, pdu)
}

// bus is the serial side. Units that it does not have keep silent; a broadcast write reaches all and nobody answers.
type bus struct {
	plant *Plant
	units []byte
}

// Serve implements [modbusd.Handler].
func (b bus) Serve(ctx context.Context, unit byte, pdu []byte) []byte {
	if unit != 0 {
		if !slices.Contains(b.units, unit) {
			return nil
		}
		return b.plant.request(ctx, unit, pdu)
	}
	if req, err := modbusd.Decode(pdu); err == nil && req.Writes() {
		for _, u := range b.units {
			b.plant.request(ctx, u, pdu)
		}
	}
	return nil
}

// request lets one unit answer one request; nil is silence.
func (p *Plant) request(ctx context.Context, unit byte, pdu []byte) []byte {
	req, malformed := modbusd.Decode(pdu)
	lost, delay := p.travel(unit, malformed == nil && req.Writes())
	if lost || !pause(ctx, delay) {
		return nil
	}
	reply, events, notify := p.execute(unit, pdu, req, malformed)
	if notify != nil {
		for _, e := range events {
			notify(e)
		}
	}
	return reply
}

// travel tells what happens to a request on its way to the unit.
func (p *Plant) travel(unit byte, writes bool) (lost bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if unit == unitPLC && p.model.faults.on(plcSlow) {
		delay = time.Duration(slowSeconds / p.speed * float64(time.Second))
	}
	return p.model.swallows(unit, writes), delay
}

// execute carries a request out in one go, counts it, and returns the reply, nil if that gets lost.
func (p *Plant) execute(unit byte, pdu []byte, req modbusd.Request, malformed error) ([]byte, []WriteEvent, func(WriteEvent)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counters.Requests++
	if unit == unitVFD {
		p.model.p01.heard = p.model.now()
	}
	u := p.model.units[unit]
	reply, err := []byte(nil), malformed
	if err == nil {
		reply, err = modbusd.Execute(u, req)
	}
	if err != nil {
		return modbusd.Refuse(pdu, err), nil, nil
	}
	events := u.writes
	u.writes = nil
	if len(events) > 0 {
		p.counters.Writes++
	}
	for _, e := range events {
		p.counters.WritesTo[e.Tag]++
		p.log.Debug("plant write", "tag", e.Tag, "unit", unit, "values", e.Values)
		if p.model.written(e) {
			reply = nil
		}
	}
	return reply, events, p.onWrite
}

// pause waits for the plant's time to pass and returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

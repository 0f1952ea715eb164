package tour

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// stops of the faults that take more than one call.
func busStops() []stop {
	return []stop{
		{"F6a_read_level", "LIT-05 gives NaN; read_level.", badLevel("F6a", "FEEDBACK_BAD")},
		{"F6b", "LIT-05 frozen: no noise, no change.", badLevel("F6b", "FEEDBACK_FROZEN")},
		{"F9_pump_status", "RS-485 dies while P-01 runs; pump_status.", deadBus("pump_status", true)},
		{"F9_read_power", "RS-485 is dead; read_power.", deadBus("read_power", false)},
		{"F9_alarm_outputs", "RS-485 is dead; alarm_outputs.", deadBus("alarm_outputs", false)},
		{"F9_alarm", "One first-out alarm tells of the dead bus, none of its devices.", oneAlarm},
		{"F9_plc", "The PLC's tools are not affected.", plcGoesOn},
		{"F18", "2.5 m asked 200 times: one write, and the budget is shown.", sameSetpoint},
		{"F22", "Reply lost and stop wanted: the running valve call is not waited for.", stopWanted},
	}
}

// await repeats a read until its code is the one wanted: a fault shows when the box has looked.
func (g *Guide) await(ctx context.Context, s Step, tool string, w want) (Step, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		step, err := g.call(ctx, s, tool, map[string]any{}, w)
		if err != nil || step.OK {
			return step, err
		}
		select {
		case <-time.After(g.scaled(500 * time.Millisecond)):
		case <-ctx.Done():
			return step, nil
		}
	}
}

// badLevel reads a level that is nothing to go by.
func badLevel(fault, code string) func(context.Context, *Guide, Step) (Step, error) {
	return func(ctx context.Context, g *Guide, s Step) (Step, error) {
		if err := g.fresh(ctx); err != nil {
			return s, err
		}
		if err := g.plant.SetFault(fault); err != nil {
			return s, err
		}
		return g.await(ctx, s, "read_level", want{verdict: "unknown", code: code, layer: "verification", writes: -1})
	}
}

// deadBus reads over the dead bus. first brings the plant to the fault, with the pump running.
func deadBus(tool string, first bool) func(context.Context, *Guide, Step) (Step, error) {
	return func(ctx context.Context, g *Guide, s Step) (Step, error) {
		if first {
			if err := g.fresh(ctx); err != nil {
				return s, err
			}
			started, err := g.agent.tool(ctx, "start_pump", map[string]any{})
			if err != nil || started.IsError {
				return s, fmt.Errorf("the pump did not start: %v %s", err, started.text())
			}
			if err := g.plant.SetFault("F9"); err != nil {
				return s, err
			}
		}
		return g.await(ctx, s, tool, want{verdict: "unknown", code: "DEVICE_OFFLINE", layer: "execution", writes: -1})
	}
}

func oneAlarm(ctx context.Context, g *Guide, s Step) (Step, error) {
	s.Call, s.Expected = "list_alarms", "one alarm for BUS-1 and none for its devices"
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		result, err := g.agent.tool(ctx, "list_alarms", map[string]any{})
		if err != nil {
			return s, err
		}
		all := string(result.Structured)
		s.Got = result.text()
		bus, device := strings.Count(all, `"link/BUS-1"`), strings.Count(all, `"device/`)
		if s.OK = bus == 1 && device == 0; s.OK {
			return s, nil
		}
		select {
		case <-time.After(g.scaled(500 * time.Millisecond)):
		case <-ctx.Done():
			s.Missed = []string{fmt.Sprintf("%d alarms of the bus and %d of devices", bus, device)}
			return s, nil
		}
	}
}

func plcGoesOn(ctx context.Context, g *Guide, s Step) (Step, error) {
	s, err := g.call(ctx, s, valve, opening(60), want{verdict: "confirmed", level: "E4", writes: -1})
	g.plant.ClearFaults()
	if stopped, e := g.agent.tool(ctx, "stop_pump", map[string]any{}); err == nil && (e != nil || stopped.IsError) {
		err = fmt.Errorf("the pump did not stop when the bus was back: %v %s", e, stopped.text())
	}
	return s, err
}

func sameSetpoint(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	const times = 200
	before, sent := g.plant.Counters().WritesTo["level_setpoint"], 0
	for i := range times {
		step, err := g.call(ctx, s, "set_level_setpoint", map[string]any{"level": 2.5}, want{verdict: "confirmed", level: "E2", writes: -1, more: func(a answer) string {
			if a.Sent {
				sent++
			}
			if len(a.Budgets) != 1 || a.Budgets[0].Used < 1 {
				return "the write budget is not shown"
			}
			return ""
		}})
		if err != nil || !step.OK {
			return step, err
		}
		s = step
		s.Call = fmt.Sprintf("%s (%d times)", s.Call, i+1)
	}
	s.Writes = g.plant.Counters().WritesTo["level_setpoint"] - before
	s.Got += fmt.Sprintf(", %d sent, %d write(s) counted by the plant", sent, s.Writes)
	if s.OK = sent == 1 && s.Writes == 1; !s.OK {
		s.Missed = []string{"exactly one write was expected"}
	}
	return s, nil
}

func stopWanted(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	started, err := g.agent.tool(ctx, "start_pump", map[string]any{})
	if err != nil || started.IsError {
		return s, fmt.Errorf("the pump did not start: %v %s", err, started.text())
	}
	if err := g.plant.SetFault("F22"); err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() {
		other := newClient(g.box.MCPURL(), g.box.Token())
		result, err := other.tool(ctx, valve, opening(60))
		if err == nil && result.IsError {
			err = fmt.Errorf("the valve call ended with: %s", result.text())
		}
		ended <- err
	}()
	s, err = g.call(ctx, s, "stop_pump", map[string]any{}, want{verdict: "confirmed", level: "E4", writes: -1})
	if other := <-ended; err == nil && other != nil {
		s.OK, s.Missed = false, append(s.Missed, other.Error())
	}
	return s, err
}

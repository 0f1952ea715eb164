package tour

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"capd/internal/sim"
)

// Box is the running capd that the tour looks at, as somebody who stands beside it can handle it.
type Box interface {
	MCPURL() string
	Token() string
	ViewerToken() string
	// Lock and Unlock act as a technician at the box.
	Lock(ctx context.Context, asset, reason string) error
	Unlock(ctx context.Context, asset string) error
	// Arm consents, as a technician, to one call of a critical tool.
	Arm(ctx context.Context, tool, reason string) error
	// Restore takes every tool back into service, settles every asset and clears every alarm.
	Restore(ctx context.Context) error
	// Kill ends the daemon at once, as a power failure would; Restart starts it again and returns when it is ready.
	Kill() error
	Restart(ctx context.Context) error
}

// Guide leads a tour over one plant and one box.
type Guide struct {
	plant *sim.Plant
	box   Box
	speed float64
	agent *client
	look  *client // the viewer's
}

// NewGuide makes a guide. speed is the plant's.
func NewGuide(p *sim.Plant, b Box, speed float64) *Guide {
	g := &Guide{plant: p, box: b, speed: speed}
	g.connect()
	return g
}

func (g *Guide) connect() {
	g.agent, g.look = newClient(g.box.MCPURL(), g.box.Token()), newClient(g.box.MCPURL(), g.box.ViewerToken())
}

// scaled is a time of the plant in real time.
func (g *Guide) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) / g.speed) }

// stop is one stop of a tour.
type stop struct {
	name, title string
	run         func(ctx context.Context, g *Guide, s Step) (Step, error)
}

// Run walks the stops in order, tells each step as it is done, and reports. An error of the surroundings fails its step; the
// tour goes on.
func (g *Guide) run(ctx context.Context, stops []stop, tell func(Step) error) (Report, error) {
	report := Report{OK: true}
	for _, s := range stops {
		step, err := s.run(ctx, g, Step{Name: s.name, Title: s.title})
		if err != nil {
			step = Step{Name: s.name, Title: s.title, Missed: []string{err.Error()}}
		}
		report.Steps = append(report.Steps, step)
		report.OK = report.OK && step.OK
		if err := tell(step); err != nil {
			return report, err
		}
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
	}
	return report, nil
}

// call makes one tool call as the agent and judges it.
func (g *Guide) call(ctx context.Context, s Step, tool string, args map[string]any, w want) (Step, error) {
	before := g.plant.Counters().Writes
	result, err := g.agent.tool(ctx, tool, args)
	if err != nil {
		return s, err
	}
	return g.judge(s, tool, args, w, result, before)
}

func (g *Guide) judge(s Step, tool string, args map[string]any, w want, result toolResult, before int) (Step, error) {
	a, err := parseAnswer(result)
	if err != nil {
		return s, fmt.Errorf("%w; the text was: %s", err, result.text())
	}
	s.Call = callText(tool, args)
	return w.judge(s, result, a, int(g.plant.Counters().Writes)-int(before)), nil
}

func callText(tool string, args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil || len(args) == 0 {
		return tool
	}
	return tool + " " + string(raw)
}

// fresh brings plant and box back to the start state.
func (g *Guide) fresh(ctx context.Context) error {
	g.plant.Reset()
	if err := g.box.Restore(ctx); err != nil {
		return err
	}
	return g.awaitNews(ctx)
}

// awaitNews waits until the box has read the plant's mode as the plant has it now.
func (g *Guide) awaitNews(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		result, err := g.agent.tool(ctx, "station_overview", map[string]any{})
		if err == nil && !result.IsError {
			return nil
		}
		select {
		case <-time.After(g.scaled(250 * time.Millisecond)):
		case <-ctx.Done():
			return fmt.Errorf("the box does not read the plant: %v; last answer: %s", err, result.text())
		}
	}
}

// fault switches a fault on for one call from the start state.
func (g *Guide) fault(ctx context.Context, s Step, id, tool string, args map[string]any, w want) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	if err := g.plant.SetFault(id); err != nil {
		return s, err
	}
	return g.call(ctx, s, tool, args, w)
}

// listing checks a tools/list against names that must and must not be there.
func listing(s Step, names, must, mustNot []string, most int) Step {
	s.Expected = fmt.Sprintf("at most %d tools, with %s", most, strings.Join(must, ", "))
	if len(mustNot) > 0 {
		s.Expected += ", without " + strings.Join(mustNot, ", ")
	}
	s.Got = fmt.Sprintf("%d tools: %s", len(names), strings.Join(names, ", "))
	for _, n := range must {
		if !slices.Contains(names, n) {
			s.Missed = append(s.Missed, n+" is not listed")
		}
	}
	for _, n := range mustNot {
		if slices.Contains(names, n) {
			s.Missed = append(s.Missed, n+" is listed")
		}
	}
	if len(names) > most {
		s.Missed = append(s.Missed, fmt.Sprintf("%d tools are more than %d", len(names), most))
	}
	s.OK = len(s.Missed) == 0
	return s
}

// killOnWrite ends the daemon at the instant at which the plant has taken a write, and starts it again.
func (g *Guide) killOnWrite(ctx context.Context, tool string, args map[string]any) error {
	killed := make(chan error, 1)
	var once sync.Once
	g.plant.OnWrite(func(sim.WriteEvent) { once.Do(func() { killed <- g.box.Kill() }) })
	defer g.plant.OnWrite(nil)
	_, callErr := g.agent.tool(ctx, tool, args)
	select {
	case err := <-killed:
		if err != nil {
			return err
		}
	case <-time.After(10 * time.Second):
		return fmt.Errorf("the plant saw no write; the call ended with: %v", callErr)
	case <-ctx.Done():
		return ctx.Err()
	}
	g.plant.OnWrite(nil)
	if err := g.box.Restart(ctx); err != nil {
		return err
	}
	g.connect()
	return nil
}

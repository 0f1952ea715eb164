package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"capd/internal/hal"
	"capd/internal/hal/modbus"
)

// probed is one unit that answers, or for which something else does.
type probed struct {
	Unit     int               `json:"unit"`
	Identity map[string]string `json:"identity,omitempty"`
	Note     string            `json:"note,omitempty"`
	Problem  string            `json:"problem,omitempty"` // what came instead of an answer of the unit
}

// answering counts the units that answer for themselves.
func answering(all []probed) int {
	n := 0
	for _, p := range all {
		if p.Problem == "" {
			n++
		}
	}
	return n
}

func probeCommand() *cobra.Command {
	var w wire
	units, asJSON := "1-32", false
	cmd := &cobra.Command{
		Use:   "probe ENDPOINT",
		Short: "Look which Modbus units answer on a wire, and who they are",
		Long: `Asks each unit on a wire for its identification (function 43/14) and, where it does not say, for one register. Nothing is written. Look only
at wires that are yours, and not at one that a running capd holds.`,
		Example: `  capd probe 10.1.2.3 --units 1-247
  capd probe /dev/ttyS1 --baud 9600 --parity none`,
		Args: takes(1, 1, "one endpoint, such as 10.1.2.3 or /dev/ttyS1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.endpoint = args[0]
			wanted, err := unitList(units)
			if err != nil {
				return &exitError{code: exitUsage, text: err.Error()}
			}
			l, err := w.open()
			if err != nil {
				return err
			}
			found, err := probe(cmd.Context(), l.conn, wanted)
			if err := errors.Join(err, l.conn.Close()); err != nil {
				return err
			}
			return showProbed(cmd, w.endpoint, found, len(wanted), asJSON)
		},
	}
	w.flags(cmd.Flags())
	cmd.Flags().StringVar(&units, "units", units, "which unit ids to ask, such as 1-247 or 1,11,21")
	cmd.Flags().BoolVar(&asJSON, "json", false, "answer with one JSON document")
	return cmd
}

// unitList reads "1-32" or "1,11,21".
func unitList(text string) ([]int, error) {
	var units []int
	for _, part := range strings.Split(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, errFrom := strconv.Atoi(low)
		to, errTo := strconv.Atoi(high)
		if errFrom != nil || errTo != nil || from < 0 || to > 255 || from > to {
			return nil, fmt.Errorf("%q names no units; unit ids are 0 to 255, such as 1-247 or 1,11,21", part)
		}
		for u := from; u <= to; u++ {
			units = append(units, u)
		}
	}
	return units, nil
}

// probe asks each unit in turn. A wire that cannot be opened at all ends it.
func probe(ctx context.Context, conn modbus.Explorer, units []int) ([]probed, error) {
	var found []probed
	for _, u := range units {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		err := conn.Ping(ctx, byte(u))
		if e := hal.AsError(err); e != nil && e.Kind == hal.Unreachable {
			return found, err
		}
		if e := hal.AsError(err); e != nil {
			if e.Kind != hal.Timeout && e.Kind != hal.Closed { // else nobody is there
				found = append(found, probed{Unit: u, Problem: problemText(e)})
			}
			continue
		}
		p := probed{Unit: u}
		id, err := conn.Identify(ctx, byte(u))
		if err != nil {
			p.Note = "does not say who it is"
		}
		for _, o := range id.Objects {
			if p.Identity == nil {
				p.Identity = map[string]string{}
			}
			p.Identity[o.Name] = o.Text
		}
		found = append(found, p)
	}
	return found, nil
}

// problemText says what a wire carried instead of a unit's answer.
func problemText(e *hal.Error) string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Err.Error()
}

// maxProblemUnits is how many units of one problem are named.
const maxProblemUnits = 8

// problems lists the units that something else answered for, those of one problem together.
func problems(all []probed) []string {
	var order []string
	units := map[string][]string{}
	for _, p := range all {
		if p.Problem == "" {
			continue
		}
		if units[p.Problem] == nil {
			order = append(order, p.Problem)
		}
		units[p.Problem] = append(units[p.Problem], strconv.Itoa(p.Unit))
	}
	for i, text := range order {
		named, more := units[text], ""
		if n := len(named); n > maxProblemUnits {
			named, more = named[:maxProblemUnits], fmt.Sprintf(" and %d more", n-maxProblemUnits)
		}
		order[i] = "unit " + strings.Join(named, ", ") + more + ": " + text
	}
	return order
}

func showProbed(cmd *cobra.Command, endpoint string, found []probed, asked int, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"endpoint": endpoint, "asked": asked, "units": found})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d units answer on %s.\n", answering(found), asked, endpoint)
	for _, p := range found {
		if p.Problem != "" {
			continue
		}
		fmt.Fprintf(&b, "  unit %-3d  %s\n", p.Unit, p.describe())
	}
	for _, text := range problems(found) {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if answering(found) == 0 {
		b.WriteString("Check cable, speed, parity and unit ids; a gateway may need its own unit id (1 or 255).\n")
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}

func (p probed) describe() string {
	var parts []string
	for _, name := range []string{"vendor", "product_name", "model_name", "product_code", "revision"} {
		if text := p.Identity[name]; text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "answers, but " + p.Note
	}
	return strings.Join(parts, ", ")
}

package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"capd/internal/document"
	"capd/internal/invoke"
	"capd/internal/localapi"
	"capd/internal/localapi/show"
	"capd/internal/outcome"
)

func (l *local) callCommand() *cobra.Command {
	req, args := localapi.CallRequest{}, ""
	cmd := &cobra.Command{
		Use:   "call ACTION [KEY=VALUE ...]",
		Short: "Call one tool, as you, through the same gates as an agent",
		Long: `Calls one tool and waits for its verdict. A number, true, false or other JSON after the = is taken as such, everything else as text
(TAG='"60"' is the text 60). Only technicians may move machines. Leaving with Ctrl-C ends the waiting, not the call.

Exit status: 0 observed, confirmed or pending; 3 refuted, unknown or not_executed; 1 an error; 2 a wrong command line.`,
		Example: `  capd call valve_status
  capd call set_discharge_valve opening=60
  capd call set_discharge_valve --args '{"opening": 60}' --dry-run
  capd call set_discharge_valve opening=60 --request-id shift-7 --json`,
		Args: takes(1, 1000, "the name of a tool"),
		RunE: func(cmd *cobra.Command, given []string) error {
			var err error
			req.Action = given[0]
			if req.Args, err = callArgs(cmd, given[1:], args); err != nil {
				return err
			}
			return l.call(cmd, req)
		},
	}
	cmd.Flags().StringVar(&args, "args", "", "the arguments as one JSON object, instead of KEY=VALUE")
	cmd.Flags().StringVar(&req.RequestID, "request-id", "", "your own id: the same id within 24 h returns the recorded outcome and sends nothing again")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "check every gate and show the frames, send nothing")
	return cmd
}

func (l *local) call(cmd *cobra.Command, req localapi.CallRequest) error {
	c := l.client()
	defer c.Close()
	a, err := c.Call(cmd.Context(), req)
	if err != nil {
		return err
	}
	if err := l.answer(cmd, a, func(now time.Time) string { return show.Answer(a, now) }); err != nil {
		return err
	}
	if a.DryRun != nil {
		return nil // it was asked for: every gate passed and nothing was sent
	}
	return exitFor(a.Verdict, outcome.Pending)
}

// callArgs reads KEY=VALUE pairs, or one JSON object.
func callArgs(cmd *cobra.Command, pairs []string, object string) (map[string]any, error) {
	if object != "" {
		if len(pairs) > 0 {
			return nil, usage(cmd, "give either --args or KEY=VALUE, not both")
		}
		node, problems := document.Parse("--args.json", []byte(object))
		if err := problems.Err(); err != nil {
			return nil, usage(cmd, "%v", err)
		}
		args, ok := node.Any().(map[string]any)
		if !ok {
			return nil, usage(cmd, `--args must be one JSON object, such as '{"opening": 60}'`)
		}
		return args, nil
	}
	args := map[string]any{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage(cmd, "%q is not KEY=VALUE", pair)
		}
		if _, twice := args[key]; twice {
			return nil, usage(cmd, "%s is given twice", key)
		}
		args[key] = value
		if json.Valid([]byte(value)) {
			args[key] = json.RawMessage(value)
		}
	}
	return args, nil
}

// longestWait is how long explain waits at most.
const longestWait = time.Hour

func (l *local) explainCommand() *cobra.Command {
	wait := time.Duration(0)
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Tell everything known of one call: verdict, evidence, samples",
		Long: `Tells everything capd knows of a call, by the invocation id that its answer and capd status show. What was learned after the answer
counts: a verdict that was amended later is the later one.

Exit status: 0 observed or confirmed; 3 any other verdict, pending too; 1 an error; 2 a wrong command line.`,
		Example: `  capd explain 01890a5d-ac96-774b-bcce-b302099a8057
  capd explain 01890a5d-ac96-774b-bcce-b302099a8057 --wait 30s --json`,
		Args: takes(1, 1, "the invocation id of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait < 0 || wait > longestWait {
				return usage(cmd, "--wait %s is not from 0s to %s", wait, longestWait)
			}
			return l.explain(cmd, args[0], wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for a verdict that is pending, such as 30s")
	return cmd
}

func (l *local) explain(cmd *cobra.Command, id string, wait time.Duration) error {
	c := l.client()
	defer c.Close()
	record, err := explainUntil(cmd.Context(), c, id, time.Now().Add(wait))
	if err != nil {
		return err
	}
	if err := l.answer(cmd, record, func(now time.Time) string { return show.Record(record, now) }); err != nil {
		return err
	}
	return exitFor(latestVerdict(record.Answer))
}

// explainUntil asks again as long as the verdict is pending and there is time: the daemon waits a minute at most.
func explainUntil(ctx context.Context, c *localapi.Client, id string, until time.Time) (invoke.Record, error) {
	for {
		record, err := c.Explain(ctx, id, max(0, time.Until(until)))
		if err != nil || record.Answer.Verdict != outcome.Pending || !time.Now().Before(until) {
			return record, err
		}
	}
}

// latestVerdict is the verdict after all that was learned later.
func latestVerdict(a invoke.Answer) outcome.Verdict {
	v := a.Verdict
	for _, later := range a.Amendments {
		if later.Verdict != "" {
			v = later.Verdict
		}
	}
	return v
}

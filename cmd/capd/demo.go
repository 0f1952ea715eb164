package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"capd/internal/sim"
	"capd/internal/sim/site"
	"capd/internal/sim/tour"
)

// demoOptions is what the demo's flags say.
type demoOptions struct {
	listen, readyFile string
	speed             float64
	script, faults    bool
	asJSON, verbose   bool
}

// tourSpeed is how much faster than life the tours run unless --speed says otherwise.
const tourSpeed = 4

func demoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a demo plant and capd on this computer",
		Long: `Runs a pump station on real Modbus sockets of this computer, and capd beside it, until you stop it (Ctrl-C).

  capd demo            prints how an agent and a technician connect
  capd demo --script   plays a tour as an agent, prints a transcript, checks every answer
  capd demo --faults   plays the plant's faults against the one right answer each`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if !cmd.Flags().Changed("speed") && (o.script || o.faults) {
				o.speed = tourSpeed
			}
			return runDemo(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7420", "where agents connect; port 0 takes a free one")
	f.StringVar(&o.readyFile, "ready-file", "", "write mcp_url, token, viewer_token, socket and the plant's modbus and serial addresses to this file, as JSON, when ready")
	f.Float64Var(&o.speed, "speed", 1, "how much faster than life the plant runs (1 to 20); the tours run at 4 unless it is given")
	f.BoolVar(&o.script, "script", false, "play the tour, print a transcript, exit 0 only if every step is as expected")
	f.BoolVar(&o.faults, "faults", false, "play the faults, exit 0 only if every answer is the right one")
	f.BoolVar(&o.asJSON, "json", false, "with --script or --faults: one JSON document")
	f.BoolVar(&o.verbose, "verbose", false, "show the daemon's log")
	cmd.MarkFlagsMutuallyExclusive("script", "faults")
	return cmd
}

func runDemo(ctx context.Context, o demoOptions, out, log io.Writer) (err error) {
	if o.speed < 1 || o.speed > 20 {
		return &exitError{code: exitUsage, text: fmt.Sprintf("--speed %g is outside 1 to 20", o.speed)}
	}
	if o.asJSON && !o.script && !o.faults {
		return &exitError{code: exitUsage, text: "--json belongs to --script or --faults"}
	}
	if o.script || o.faults {
		o.listen = tourListen(o.listen)
	}
	dir, err := os.MkdirTemp("", "capd-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plant, err := sim.Start(ctx, sim.Options{Speed: o.speed, Seed: 1, Serial: true, Baud: 19200})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plant.Close()) }()
	config, err := site.Write(dir, site.Params{Modbus: plant.ModbusAddr(), Serial: plant.SerialPath(), Listen: o.listen, State: dir + "/state", Run: dir + "/run", Speed: o.speed})
	if err != nil {
		return err
	}
	box, err := startBox(ctx, config, dir, o.logTo(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.stop()) }()
	if o.script || o.faults {
		return playTour(ctx, tour.NewGuide(plant, box, o.speed), o, out)
	}
	return keepDemo(ctx, box, plant, o, out)
}

// tourListen takes a free port unless one was asked for: a tour runs beside a demo.
func tourListen(asked string) string {
	if asked == "127.0.0.1:7420" {
		return "127.0.0.1:0"
	}
	return asked
}

func (o demoOptions) logTo(log io.Writer) io.Writer {
	if o.verbose {
		return log
	}
	return nil
}

func playTour(ctx context.Context, g *tour.Guide, o demoOptions, out io.Writer) error {
	tell := func(s tour.Step) error { return s.Print(out) }
	if o.asJSON {
		tell = func(tour.Step) error { return nil }
	}
	play := g.Script
	if o.faults {
		play = g.Faults
	}
	report, err := play(ctx, tell)
	if err != nil {
		return err
	}
	if o.asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return err
		}
	}
	passed := 0
	for _, s := range report.Steps {
		if s.OK {
			passed++
		}
	}
	if !o.asJSON {
		if _, err := fmt.Fprintf(out, "%d of %d steps as expected\n", passed, len(report.Steps)); err != nil {
			return err
		}
	}
	if !report.OK {
		return &exitError{code: 1, text: fmt.Sprintf("%d of %d steps were not as expected", len(report.Steps)-passed, len(report.Steps))}
	}
	return nil
}

// keepDemo tells how to connect and waits for the end.
func keepDemo(ctx context.Context, b *box, plant *sim.Plant, o demoOptions, out io.Writer) error {
	if o.readyFile != "" {
		if err := writeReady(o.readyFile, b.ready(plant)); err != nil {
			return err
		}
	}
	self := os.Args[0]
	_, err := fmt.Fprintf(out, `Pump station PS-07 runs on this computer, and capd beside it.

An agent connects over MCP
  URL           %[1]s
  operator      Authorization: Bearer %[2]s
  viewer        Authorization: Bearer %[3]s
  over stdio    %[6]s mcp --url %[1]s --token-file %[4]s

A technician looks and acts at the box, in another terminal
  export CAPD_SOCKET=%[5]s
  %[6]s status
  %[6]s call set_discharge_valve opening=60
  %[6]s lock PS07-FCV-04 --reason "packing is being replaced"
  %[6]s tools find "把出口阀开到60%%" --explain

Files to look at: %[7]s
Stop with Ctrl-C.
`, b.url, b.token, b.viewer, b.tokenFile, b.socket, self, b.dir)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-b.ended():
		return fmt.Errorf("capd ended by itself: %w; run again with --verbose to see why", b.waitErr())
	}
}

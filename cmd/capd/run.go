package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"capd/internal/app"
	"capd/internal/config"
)

func runCommand() *cobra.Command {
	var o app.Options
	readyFile := ""
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon",
		Long: `Runs capd until it is asked to stop (SIGTERM, SIGINT). SIGHUP reads the inventory, the contracts and the profiles again.

A fresh box observes: no write can leave it until an engineer sets the mode at the box (capd mode active).`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Level = new(slog.LevelVar)
			o.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: o.Level}))
			o.Version = version
			if readyFile != "" {
				o.Ready = func(r app.Ready) error { return writeReady(readyFile, r) }
			}
			return app.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVarP(&o.ConfigPath, "config", "c", config.DefaultPath, "the configuration file")
	cmd.Flags().StringVar(&readyFile, "ready-file", "", "write how to connect to this file, as JSON, when ready")
	cmd.Flags().BoolVar(&o.OwnUIDIsTechnician, "own-user-is-technician", false, "the daemon's own user may change things on the status socket (for the demo)")
	return cmd
}

// writeReady writes a JSON document so that a reader never sees half of it.
func writeReady(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temporary, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("the ready file cannot be written: %w", err)
	}
	return os.Rename(temporary, path)
}

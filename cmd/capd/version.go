package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when the binary is built (-ldflags "-X main.version=...").
var version = "dev"

func versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this binary",
		Args:  takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			modules := map[string]string{}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, m := range info.Deps {
					modules[m.Path] = m.Version
				}
			}
			if !asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "capd %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"version": version, "os": runtime.GOOS, "arch": runtime.GOARCH,
				"go": runtime.Version(), "formats": map[string]string{"config": "capd/v1", "inventory": "capd/v1", "contract": "capd/v1", "profile": "capd/v1"},
				"modules": modules})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document, with the versions of formats and modules")
	return cmd
}

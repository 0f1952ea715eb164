package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitError ends the program with a status of its own; the text was already shown when it is empty.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return 1
}

// Exit statuses beside 0 (as asked) and 1 (an error).
const (
	exitUsage   = 2 // the command line is wrong
	exitRefused = 3 // a call was answered with refuted, unknown or not_executed, or a read with bad quality
)

// passOn gives a command the flags that were written before its name, and refuses those it does not have.
func passOn(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Root().Flags().Visit(func(f *pflag.Flag) {
		own := cmd.Flags().Lookup(f.Name)
		switch {
		case f.Name == "help" || own == f || err != nil:
		case own == nil:
			err = usage(cmd, "%s has no --%s", cmd.CommandPath(), f.Name)
		case !own.Changed:
			err = cmd.Flags().Set(f.Name, f.Value.String())
		}
	})
	return err
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capd",
		Short: "the last metre between AI agents and machines",
		Long: `capd stands between AI agents and machines. Agents see a few tools over MCP; behind each stands a contract.
After every actuation capd measures whether the machine really did it, and answers with evidence or says that it does not know.

New here?  capd demo           a plant and capd on this computer
           capd demo --script  a tour with a transcript

capd is not a safety function.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		TraverseChildren:  true,
		Args:              subcommands,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: passOn,
	}
	cmd.Flags().String("socket", "", "the status socket, for the commands that ask a running capd")
	cmd.Flags().Bool("json", false, "one JSON document, for the commands that have one")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &exitError{code: exitUsage, text: fmt.Sprintf("%v; see %s --help", err, c.CommandPath())}
	})
	cmd.AddCommand(runCommand(), demoCommand(), mcpCommand(), probeCommand(), importCommand(), versionCommand())
	cmd.AddCommand(localCommands()...)
	return cmd
}

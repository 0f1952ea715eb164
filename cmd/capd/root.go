package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
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

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capd",
		Short: "the last metre between AI agents and machines",
		Long: `capd stands between AI agents and machines. Agents see a few tools over MCP; behind each stands a contract.
After every actuation capd measures whether the machine really did it, and answers with evidence or says that it does not know.

New here?  capd demo           a plant and capd on this computer
           capd demo --script  a tour with a transcript

capd is not a safety function.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &exitError{code: exitUsage, text: fmt.Sprintf("%v; see %s --help", err, c.CommandPath())}
	})
	cmd.AddCommand(runCommand(), demoCommand(), mcpCommand(), probeCommand(), importCommand(), versionCommand())
	cmd.AddCommand(localCommands()...)
	return cmd
}

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"capd/internal/document"
	"capd/internal/localapi"
	"capd/internal/outcome"
)

// local is what the commands for people at the box share: how to reach the daemon and how to answer.
type local struct {
	socket string
	json   bool
}

// localCommands are the commands that talk to the status socket of a running daemon.
func localCommands() []*cobra.Command {
	l := &local{}
	all := []*cobra.Command{l.statusCommand(), l.lockCommand(), l.unlockCommand(), l.armCommand(), l.disarmCommand(), l.callCommand(), l.explainCommand(), l.readCommand(), l.assetsCommand(),
		l.toolsCommand(), l.degradeCommand(), l.restoreCommand(), l.settleCommand(), l.alarmsCommand(), l.modeCommand(), l.reloadCommand(), l.tokenCommand()}
	socket := cmp.Or(os.Getenv("CAPD_SOCKET"), localapi.DefaultSocket)
	for _, c := range all {
		c.PersistentFlags().StringVar(&l.socket, "socket", socket, "the status socket of capd; CAPD_SOCKET in the environment sets it too")
		c.PersistentFlags().BoolVar(&l.json, "json", false, "answer with one JSON document")
	}
	return all
}

// client makes a client for one command; the caller closes it.
func (l *local) client() *localapi.Client { return localapi.NewClient(l.socket) }

// answer writes a document as text, or as JSON where that was asked for.
func (l *local) answer(cmd *cobra.Command, doc any, text func(now time.Time) string) error {
	if !l.json {
		_, err := io.WriteString(cmd.OutOrStdout(), text(time.Now()))
		return err
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// ask runs one request and answers with its document.
func ask[T any](l *local, cmd *cobra.Command, request func(*localapi.Client) (T, error), text func(T, time.Time) string) error {
	c := l.client()
	defer c.Close()
	doc, err := request(c)
	if err != nil {
		return err
	}
	return l.answer(cmd, doc, func(now time.Time) string { return text(doc, now) })
}

// timeless makes a text that needs no time fit where one is given.
func timeless[T any](text func(T) string) func(T, time.Time) string {
	return func(doc T, _ time.Time) string { return text(doc) }
}

// usage is an error about the command line.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &exitError{code: exitUsage, text: fmt.Sprintf(format, args...) + "; see " + cmd.CommandPath() + " --help"}
}

// takes checks how many arguments there are, and names those that are missing.
func takes(least, most int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, "%s needs %s", cmd.CommandPath(), names)
		case len(args) > most && most == 0:
			return usage(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
		case len(args) > most:
			return usage(cmd, "%s takes %s and no more, got %q besides", cmd.CommandPath(), names, args[most])
		}
		return nil
	}
}

// subcommands refuses an argument that is no subcommand, of a command that has some.
func subcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	hint := "there are " + strings.Join(known, ", ")
	if near := document.Suggest(args[0], known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usage(cmd, "%s has no %q; %s", cmd.CommandPath(), args[0], hint)
}

// reasonFlag adds --reason.
func reasonFlag(cmd *cobra.Command, to *string, help string) {
	cmd.Flags().StringVar(to, "reason", "", help)
}

// needReason refuses a change that says no reason.
func needReason(cmd *cobra.Command, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usage(cmd, `%s needs --reason "...", for those who come after you`, cmd.CommandPath())
	}
	return nil
}

// exitFor is the end of a command that showed a verdict.
func exitFor(v outcome.Verdict, good ...outcome.Verdict) error {
	for _, g := range append(good, outcome.Observed, outcome.Confirmed) {
		if v == g {
			return nil
		}
	}
	return &exitError{code: exitRefused, text: "the verdict is " + string(v)}
}

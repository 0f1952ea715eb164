package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"capd/internal/localapi"
	"capd/internal/localapi/show"
)

func (l *local) readCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "read ASSET[.POINT]",
		Short: "Read a point, or all points of an asset, afresh from the machine",
		Long: `Reads from the machine, not from memory, and shows value, unit, quality, age and the raw value.

Exit status: 0 only if every value is of good quality, else 3; 1 an error; 2 a wrong command line.`,
		Example: `  capd read PS07-FCV-04.position
  capd read PS07-FCV-04 --json`,
		Args: takes(1, 1, "one asset or ASSET.point"),
		RunE: func(cmd *cobra.Command, args []string) error {
			good := false
			err := ask(l, cmd, func(c *localapi.Client) (localapi.Readings, error) {
				r, err := c.Read(cmd.Context(), args[0])
				good = r.Good
				return r, err
			}, timeless(show.Readings))
			if err == nil && !good {
				err = &exitError{code: exitRefused, text: "not every value is of good quality"}
			}
			return err
		},
	}
}

func (l *local) assetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "assets [ASSET]",
		Short: "List the assets, or show one with its points and last readings",
		Example: `  capd assets
  capd assets PS07-FCV-04`,
		Args: takes(0, 1, "one asset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return ask(l, cmd, func(c *localapi.Client) (localapi.Asset, error) { return c.Asset(cmd.Context(), args[0]) }, show.Asset)
			}
			return ask(l, cmd, func(c *localapi.Client) ([]localapi.Asset, error) { return c.Assets(cmd.Context()) }, timeless(show.Assets))
		},
	}
}

func (l *local) toolsCommand() *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		return ask(l, cmd, func(c *localapi.Client) ([]localapi.Tool, error) { return c.Tools(cmd.Context()) }, timeless(show.Tools))
	}
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "List the tools that you may see, or search for one",
		Example: `  capd tools`,
		Args:    subcommands,
		RunE:    list,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the tools that you may see",
		Example: `  capd tools list
  capd tools list --json`,
		Args: takes(0, 0, ""),
		RunE: list,
	}, l.findCommand())
	return cmd
}

func (l *local) findCommand() *cobra.Command {
	f := localapi.FindRequest{}
	cmd := &cobra.Command{
		Use:   "find WORDS",
		Short: "Search for tools by what they shall do, as an agent does",
		Example: `  capd tools find "open the discharge valve"
  capd tools find 出口阀 --explain
  capd tools find "valve opening" --profile reader --limit 3 --json`,
		Args: takes(1, 1000, "what the tool shall do, in words"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Query = strings.Join(args, " ")
			if f.Limit < 1 {
				return usage(cmd, "--limit %d is less than 1", f.Limit)
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.Found, error) { return c.Find(cmd.Context(), f) },
				func(found localapi.Found, _ time.Time) string { return show.Found(found, f.Explain) })
		},
	}
	cmd.Flags().BoolVar(&f.Explain, "explain", false, "show the scores, why each tool is there, and what the policy removed")
	cmd.Flags().IntVar(&f.Limit, "limit", 5, "show at most so many")
	cmd.Flags().StringVar(&f.Profile, "profile", "", "search as an agent with this profile would")
	return cmd
}

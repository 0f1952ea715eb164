package main

import (
	"time"

	"github.com/spf13/cobra"

	"capd/internal/health"
	"capd/internal/localapi"
	"capd/internal/localapi/show"
	"capd/internal/standing"
)

func (l *local) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the state of the box: what is wrong, locked, running; the mode",
		Example: `  capd status
  capd status --json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(l, cmd, func(c *localapi.Client) (localapi.Status, error) { return c.Status(cmd.Context()) }, show.Status)
		},
	}
}

func (l *local) lockCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "lock [ASSET|PLACE]",
		Short: "Block an asset, or all assets at a place, until you unlock it; alone: list the lockouts",
		Long: `Blocks an asset, or every asset at a place such as plant/ps07, in your name. No agent can lift it and it survives a restart. It stops
capd's commands, not energy: isolate the machine yourself. Calls that are under way already are listed, not stopped.`,
		Example: `  capd lock PS07-FCV-04 --reason "replacing the actuator"
  capd lock plant/ps07 --reason "annual service"
  capd lock`,
		Args: takes(0, 1, "one asset or place"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return ask(l, cmd, func(c *localapi.Client) ([]standing.Lockout, error) {
					status, err := c.Status(cmd.Context())
					return status.Lockouts, err
				}, show.Lockouts)
			}
			if err := needReason(cmd, reason); err != nil {
				return err
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.Locked, error) { return c.Lock(cmd.Context(), args[0], reason) }, show.Locked)
		},
	}
	reasonFlag(cmd, &reason, "why it is locked; everybody who is refused reads it")
	return cmd
}

func (l *local) unlockCommand() *cobra.Command {
	owner := ""
	cmd := &cobra.Command{
		Use:   "unlock ASSET|PLACE",
		Short: "Lift your own lockout",
		Long: `Lifts your own lockout. Those of others on the same asset or place stand. Root may lift another person's with --force OWNER; it goes on
record.`,
		Example: `  capd unlock PS07-FCV-04
  capd unlock plant/ps07
  capd unlock PS07-FCV-04 --force wang`,
		Args: takes(1, 1, "one asset or place"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("force") && owner == "" {
				return usage(cmd, "--force needs the name of the person whose lockout is lifted")
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.Unlocked, error) { return c.Unlock(cmd.Context(), args[0], owner) }, show.Unlocked)
		},
	}
	cmd.Flags().StringVar(&owner, "force", "", "the person whose lockout is lifted instead of yours; root only")
	return cmd
}

func (l *local) modeCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "mode [observe|shadow|active]",
		Short: "Show or set the mode of the box",
		Long: `observe: no write can leave the box. shadow: every gate is checked, nothing is sent. active: capd moves machines. Without a mode it shows
the one in force.`,
		Example: `  capd mode
  capd mode observe --reason "storm warning"
  capd mode active --reason "handed over by the commissioning engineer"`,
		Args: takes(0, 1, "one mode"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return ask(l, cmd, func(c *localapi.Client) (standing.ModeState, error) {
					status, err := c.Status(cmd.Context())
					return status.Mode, err
				}, show.Mode)
			}
			if _, err := standing.ParseMode(args[0]); err != nil {
				return usage(cmd, "%v", err)
			}
			if err := needReason(cmd, reason); err != nil {
				return err
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.ModeChange, error) {
				return c.SetMode(cmd.Context(), args[0], reason)
			},
				timeless(show.ModeChange))
		},
	}
	reasonFlag(cmd, &reason, "why the mode changes")
	return cmd
}

func (l *local) settleCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "settle ASSET",
		Short: "Say that you have looked at an asset whose state was not known",
		Long: `After a call whose outcome is unknown, relative actions on its asset are refused until a fresh reading or a technician settles it. Look at
the machine first.`,
		Example: `  capd settle PS07-FCV-04 --reason "valve stands at 45 %, seen on site"`,
		Args:    takes(1, 1, "one asset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(l, cmd, func(c *localapi.Client) (localapi.Settled, error) { return c.Settle(cmd.Context(), args[0], reason) },
				timeless(show.Settled))
		},
	}
	reasonFlag(cmd, &reason, "what you have seen")
	return cmd
}

func (l *local) alarmsCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "alarms",
		Short: "List the alarms, or clear one",
		Example: `  capd alarms
  capd alarms --all --json`,
		Args: subcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(l, cmd, func(c *localapi.Client) ([]health.Alarm, error) {
				if all {
					return c.AllAlarms(cmd.Context())
				}
				return c.Alarms(cmd.Context())
			}, show.Alarms)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "with those that were cleared")
	cmd.AddCommand(&cobra.Command{
		Use:     "clear KEY|NUMBER",
		Short:   "Clear an active alarm, named by its key or its number",
		Example: `  capd alarms clear 7`,
		Args:    takes(1, 1, "the key or the number of one alarm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(l, cmd, func(c *localapi.Client) (health.Alarm, error) { return c.ClearAlarm(cmd.Context(), args[0]) }, timeless(show.Cleared))
		},
	})
	return cmd
}

func (l *local) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Read inventory, contracts and profiles again, and show what changed",
		Long: `Reads the three folders again, as capd does by itself when they change. A file that is not good is shown with its line, and its last
good version goes on serving.

Exit status: 3 when a file is not in force as it is written.`,
		Example: `  capd reload
  capd reload --json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			rejected := 0
			err := ask(l, cmd, func(c *localapi.Client) (localapi.Reloaded, error) {
				r, err := c.Reload(cmd.Context())
				rejected = len(r.Rejected)
				return r, err
			}, timeless(show.Reloaded))
			if err == nil && rejected > 0 {
				err = &exitError{code: exitRefused, text: "not every file is in force as it is written"}
			}
			return err
		},
	}
}

// healthCommand is degrade or restore.
func (l *local) healthCommand(cmd *cobra.Command, mustSay bool, change func(c *localapi.Client, cmd *cobra.Command, tool,
	reason string) (localapi.ToolHealth, error)) *cobra.Command {
	reason := ""
	cmd.Args = takes(1, 1, "one tool")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := needReason(cmd, reason); mustSay && err != nil {
			return err
		}
		return ask(l, cmd, func(c *localapi.Client) (localapi.ToolHealth, error) { return change(c, cmd, args[0], reason) },
			func(h localapi.ToolHealth, _ time.Time) string { return show.ToolHealth(h) })
	}
	reasonFlag(cmd, &reason, "why")
	return cmd
}

func (l *local) degradeCommand() *cobra.Command {
	return l.healthCommand(&cobra.Command{
		Use:     "degrade TOOL",
		Short:   "Take a tool out of service until it is restored",
		Example: `  capd degrade set_discharge_valve --reason "position transmitter is being calibrated"`,
	}, true, func(c *localapi.Client, cmd *cobra.Command, tool, reason string) (localapi.ToolHealth, error) {
		return c.Degrade(cmd.Context(), tool, reason)
	})
}

func (l *local) restoreCommand() *cobra.Command {
	return l.healthCommand(&cobra.Command{
		Use:     "restore TOOL",
		Short:   "Put a tool back into service; look at the machine first",
		Example: `  capd restore set_discharge_valve --reason "transmitter replaced"`,
	}, false, func(c *localapi.Client, cmd *cobra.Command, tool, reason string) (localapi.ToolHealth, error) {
		return c.Restore(cmd.Context(), tool, reason)
	})
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"capd/internal/localapi"
	"capd/internal/localapi/show"
	"capd/internal/standing"
)

func (l *local) armCommand() *cobra.Command {
	reason, within := "", standing.DefaultArm
	cmd := &cobra.Command{
		Use:   "arm [TOOL]",
		Short: "Consent to one call of a critical tool; alone: list the consents in force",
		Long: `A critical tool answers NOT_ARMED until a technician at the box consents. A consent is for one call, ends after its time or with the
process, and does not outlast a change of the contract. Every other gate still holds.`,
		Example: `  capd arm reset_vfd_fault --reason "belt is clear, li stands at the pump" --for 5m
  capd arm`,
		Args: takes(0, 1, "one tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return ask(l, cmd, func(c *localapi.Client) ([]standing.Arm, error) {
					status, err := c.Status(cmd.Context())
					return status.Armed, err
				}, show.Arms)
			}
			if err := needReason(cmd, reason); err != nil {
				return err
			}
			if within <= 0 || within > standing.MaxArm {
				return usage(cmd, "--for is %v; give up to %v", within, standing.MaxArm)
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.Armed, error) {
				return c.Arm(cmd.Context(), args[0], within.Round(time.Millisecond), reason)
			}, show.Armed)
		},
	}
	reasonFlag(cmd, &reason, "why it is all right to do this now; it goes on record")
	cmd.Flags().DurationVar(&within, "for", within, "how long the consent waits for its call, at most 1h")
	return cmd
}

func (l *local) disarmCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "disarm TOOL",
		Short:   "Take a consent back before it is used",
		Example: `  capd disarm reset_vfd_fault`,
		Args:    takes(1, 1, "one tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(l, cmd, func(c *localapi.Client) (localapi.Armed, error) { return c.Disarm(cmd.Context(), args[0]) }, timeless(show.Disarmed))
		},
	}
}

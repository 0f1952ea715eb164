package main

import (
	"time"

	"github.com/spf13/cobra"

	"capd/internal/access"
	"capd/internal/localapi"
	"capd/internal/localapi/show"
)

// defaultTTL is how long a token lives when nothing is said.
const defaultTTL = 720 * time.Hour

func (l *local) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of agents",
		Args:  subcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage(cmd, "say what: capd token create, capd token list or capd token revoke")
		},
	}
	cmd.AddCommand(l.tokenCreateCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the tokens; their secrets are not kept",
		Example: `  capd token list
  capd token list --json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(l, cmd, func(c *localapi.Client) ([]access.Token, error) { return c.Tokens(cmd.Context()) }, show.Tokens)
		},
	}, &cobra.Command{
		Use:     "revoke ID|NAME",
		Short:   "End a token at once and for good",
		Example: `  capd token revoke shift-agent`,
		Args:    takes(1, 1, "the id or the name of one token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(l, cmd, func(c *localapi.Client) (access.Token, error) { return c.RevokeToken(cmd.Context(), args[0]) }, timeless(show.Revoked))
		},
	})
	return cmd
}

func (l *local) tokenCreateCommand() *cobra.Command {
	spec := access.TokenSpec{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token for an agent and show its secret once",
		Long: `Makes a token. Its secret is on the first line of the answer and is kept nowhere else. Roles are those of capd.yaml; a scope such as
site:ps07 covers the assets whose location has that segment, * covers all.`,
		Example: `  capd token create shift-agent --role operator --scope site:ps07
  capd token create dashboard --role viewer --scope "*" --profile reader --ttl 2160h
  capd token create historian --role viewer --scope "*" --no-expiry --json`,
		Args: takes(1, 1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Name = args[0]
			switch {
			case len(spec.Roles) == 0:
				return usage(cmd, "%s needs --role, one of those in capd.yaml", cmd.CommandPath())
			case spec.NoExpiry && cmd.Flags().Changed("ttl"):
				return usage(cmd, "give either --ttl or --no-expiry, not both")
			case spec.NoExpiry:
				spec.TTL = 0
			}
			return ask(l, cmd, func(c *localapi.Client) (localapi.NewToken, error) { return c.CreateToken(cmd.Context(), spec) }, timeless(show.NewToken))
		},
	}
	cmd.Flags().StringSliceVar(&spec.Roles, "role", nil, "a role of capd.yaml; may be given more than once")
	cmd.Flags().StringSliceVar(&spec.Scopes, "scope", nil, `what it may reach, such as site:ps07 or "*"; may be given more than once`)
	cmd.Flags().StringVar(&spec.Profile, "profile", "", "the profile that chooses what the agent is shown")
	cmd.Flags().StringVar(&spec.Tenant, "tenant", "", "the tenant it belongs to")
	cmd.Flags().DurationVar(&spec.TTL, "ttl", defaultTTL, "how long it lives, in hours")
	cmd.Flags().BoolVar(&spec.NoExpiry, "no-expiry", false, "it lives until it is revoked")
	return cmd
}

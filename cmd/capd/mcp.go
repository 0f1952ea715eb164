package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"capd/internal/mcpserver"
)

func mcpCommand() *cobra.Command {
	socket, url, tokenFile := "/run/capd/mcp.sock", "", ""
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Bridge an agent on standard input and output to the running daemon",
		Long: `Carries MCP between standard input and output, one JSON message a line, and the running daemon: an agent that starts its
servers as child processes is given "capd mcp" as the command.

  capd mcp                                       over the agents' socket, as the user who runs it
  capd mcp --token-file token                    over the socket, with a token
  capd mcp --url http://127.0.0.1:7420/mcp --token-file token`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := readToken(tokenFile)
			if err != nil {
				return err
			}
			to := mcpserver.BridgeTarget{URL: url, Token: token}
			if url == "" {
				to.Dial = func(ctx context.Context) (net.Conn, error) {
					var d net.Dialer
					return d.DialContext(ctx, "unix", socket)
				}
			}
			return mcpserver.Bridge(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), to)
		},
	}
	cmd.Flags().StringVar(&socket, "mcp-socket", socket, "the agents' socket of the daemon")
	cmd.Flags().StringVar(&url, "url", "", "the daemon's URL, instead of the socket")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "a file with the token (default: the environment variable CAPD_TOKEN)")
	return cmd
}

// readToken reads a secret from a file or the environment; never from an argument, which every user of the computer can see.
func readToken(path string) (string, error) {
	if path == "" {
		return os.Getenv("CAPD_TOKEN"), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

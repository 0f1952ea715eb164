// Command capd is the last metre between AI agents and machines.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := root().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "capd: "+err.Error())
		os.Exit(exitCode(err))
	}
}

// Command parser is a process that takes mails apart and nothing else, for tests of the connectors.
package main

import (
	"fmt"
	"os"

	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

func main() {
	if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parser:", err)
		os.Exit(1)
	}
}

// Command parser is a process that takes mails apart and nothing else, for tests of the connector.
package main

import (
	"fmt"
	"os"

	"github.com/pawl-run/pawl/engine/connector/maildir/mailparse"
)

func main() {
	if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parser:", err)
		os.Exit(1)
	}
}

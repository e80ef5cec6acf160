// Command worker is a worker process and nothing else, for tests of the pool.
package main

import (
	"fmt"
	"os"

	"github.com/pawl-run/pawl/sandbox/worker"
)

func main() {
	if err := worker.Run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

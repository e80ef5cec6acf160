package main

import (
	"context"
	"os"
	"time"
)

func main() { program{}.main() }

func (p program) main() {
	useUTC()
	ctx := untilInterrupted(context.Background())
	os.Exit(p.run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

// useUTC makes what is printed and recorded independent of where this process runs. It goes through
// the environment, which is read at the first use of the local zone: the variable itself may not be
// written any more where a library's goroutine, started before main, reads it.
func useUTC() {
	// An error could only mean that the name is malformed.
	_ = os.Setenv("TZ", "UTC")
	if time.Local.String() != "UTC" {
		time.Local = time.UTC // on systems that know no such variable
	}
}

package main

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() { program{}.main() }

func (p program) main() {
	// Only the embedded server of a cluster writes a profile of the memory, when it is asked for one. A sample for it
	// takes time, so there is one for each 8 MiB.
	runtime.MemProfileRate = 8 << 20
	if runsEngine(os.Args[1:]) {
		relaxTimers()
	}
	useUTC()
	ctx := untilInterrupted(context.Background())
	os.Exit(p.run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

// runsEngine reports whether a command line may be one that runs an engine. It is asked before the line is parsed.
func runsEngine(args []string) bool {
	return slices.ContainsFunc(args, func(word string) bool { return word == "up" || word == "serve" || word == "bench" })
}

// useUTC makes the texts that are printed and recorded independent of the machine's time zone. It sets TZ, which Go
// reads at the first use of the local zone. time.Local is not assigned where that can be avoided: a library may have
// started a goroutine before main that reads it.
func useUTC() {
	// An error could only mean that the name is malformed.
	_ = os.Setenv("TZ", "UTC")
	if time.Local.String() != "UTC" {
		time.Local = time.UTC // on systems that know no such variable
	}
}

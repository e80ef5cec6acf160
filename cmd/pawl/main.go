package main

import (
	"context"
	"os"
)

func main() {
	ctx := untilInterrupted(context.Background())
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

package main

import (
	"os"
	"os/exec"
	"runtime"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector/maildir/mailparse"
)

// mailParser makes the process that takes mails apart: this program again, as `pawl parse-mail`.
func mailParser() *exec.Cmd {
	path := "/proc/self/exe" // this program, also after its file was replaced or deleted
	if runtime.GOOS != "linux" {
		path, _ = os.Executable() // without a path it does not start, which says why
	}
	return &exec.Cmd{Path: path, Args: []string{os.Args[0], "parse-mail"}}
}

// parseMailCmd is that process. An engine starts it; it is of no use to people.
type parseMailCmd struct{}

// Run serves an engine until that ends.
func (parseMailCmd) Run() error {
	if err := mailparse.Serve(os.Stdin, os.Stdout); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", err)
	}
	return nil
}

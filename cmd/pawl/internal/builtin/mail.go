package builtin

import (
	"os"
	"os/exec"
	"runtime"
)

// mailParser makes the process that parses mails: this program again, as `pawl parse-mail`.
func mailParser() *exec.Cmd {
	path := "/proc/self/exe" // this program, also after its file was replaced or deleted
	if runtime.GOOS != "linux" {
		path, _ = os.Executable() // without a path the process does not start, and the error of that says why
	}
	return &exec.Cmd{Path: path, Args: []string{os.Args[0], "parse-mail"}}
}

package builtin

import (
	"os"
	"os/exec"
	"runtime"
)

// mailParser makes the process that takes mails apart: this program again, as `pawl parse-mail`.
func mailParser() *exec.Cmd {
	path := "/proc/self/exe" // this program, also after its file was replaced or deleted
	if runtime.GOOS != "linux" {
		path, _ = os.Executable() // without a path it does not start, which says why
	}
	return &exec.Cmd{Path: path, Args: []string{os.Args[0], "parse-mail"}}
}

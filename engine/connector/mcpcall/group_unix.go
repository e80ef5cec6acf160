//go:build unix

package mcpcall

import (
	"os/exec"
	"syscall"
)

// groupOfItsOwn makes the process the first of a group, to which all processes belong that it starts.
func groupOfItsOwn(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// endGroup ends the process and all of its group; nil is none.
func endGroup(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
	}
}

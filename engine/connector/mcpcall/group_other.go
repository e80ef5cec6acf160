//go:build !unix

package mcpcall

import "os/exec"

// groupOfItsOwn does nothing here: there are no groups of processes.
func groupOfItsOwn(*exec.Cmd) {}

// endGroup ends the process; nil is none.
func endGroup(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended already
	}
}

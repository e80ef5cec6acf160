package confine_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// inherit opens a file that started programs inherit, as a careless parent's would be.
func inherit(t *testing.T) {
	fd, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
}

// asUser makes a command run as another user.
func asUser(cmd *exec.Cmd, uid int) {
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
}

//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"
)

// unprivileged lets the command run as another user where this one is root, which the server refuses, and gives that
// user the paths.
func unprivileged(t testing.TB, cmd *exec.Cmd, paths ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		owner, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatalf("the server does not run as root, and there is no user postgres or nobody: %v", err)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := os.Chown(path, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

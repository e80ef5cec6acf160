//go:build unix

package processtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Owner is the user that the commands of a folder run as, by names and numbers.
type Owner struct{ User, Group, UID, GID string }

// Owner is that user: the test's own, unless the test is root, which servers refuse to be.
func (f *Folder) Owner(t testing.TB) Owner {
	t.Helper()
	var owner *user.User
	var err error
	if os.Geteuid() != 0 {
		owner, err = user.Current()
	} else if owner, err = user.Lookup(f.user); err != nil {
		owner, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatalf("a server does not run as root, and there is no user %s or nobody: %v", f.user, err)
	}
	group, err := user.LookupGroupId(owner.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return Owner{owner.Username, group.Name, owner.Uid, owner.Gid}
}

// unprivileged lets the command run as the folder's owner, and gives that user the folder and all in it.
func (f *Folder) unprivileged(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	owner := f.Owner(t)
	uid, err := strconv.ParseUint(owner.UID, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(owner.GID, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(f.Path, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(uid), int(gid)))
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

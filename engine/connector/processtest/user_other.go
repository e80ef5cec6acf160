//go:build !unix

package processtest

import (
	"os/exec"
	"testing"
)

// Owner is the user that the commands of a folder run as, by names and numbers.
type Owner struct{ User, Group, UID, GID string }

// Owner skips the test: the servers that ask for it do not run on this system.
func (f *Folder) Owner(t testing.TB) Owner {
	t.Helper()
	t.Skip("such a server runs on Unix only")
	return Owner{}
}

// unprivileged has nothing to do: there is no root.
func (f *Folder) unprivileged(testing.TB, *exec.Cmd) {}

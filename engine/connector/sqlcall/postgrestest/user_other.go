//go:build !unix

package postgrestest

import (
	"os/exec"
	"testing"
)

// unprivileged has nothing to do: there is no root.
func unprivileged(testing.TB, *exec.Cmd, ...string) {}

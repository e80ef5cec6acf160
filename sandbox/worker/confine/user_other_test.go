//go:build !linux

package confine_test

import (
	"os/exec"
	"testing"
)

func inherit(*testing.T) {}

func asUser(*exec.Cmd, int) {}

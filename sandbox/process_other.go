//go:build !linux

package sandbox

import (
	"os"
	"syscall"
	"time"
)

// selfPath is this program.
var selfPath, _ = os.Executable()

func attributes() *syscall.SysProcAttr { return nil }

// ownCPU is not known here: a script is charged for the time that passes.
func ownCPU() func() time.Duration { return nil }

func threadCPU() func() time.Duration { return nil }

func cpuOf(int) (time.Duration, bool) { return 0, false }

func memoryOf(int) (int64, bool) { return 0, false }

// threadsOf is not known here.
func threadsOf(int) int { return 0 }

// unread is not known here.
func unread(*os.File) int { return 0 }

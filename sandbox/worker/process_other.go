//go:build !linux

package worker

import (
	"os"
	"syscall"
)

// selfPath is this program.
var selfPath, _ = os.Executable()

func attributes() *syscall.SysProcAttr { return nil }

// relaxTimers changes nothing here.
func relaxTimers() {}

func memoryOf(int) (int64, bool) { return 0, false }

// ended is not known here before the process was waited for.
func ended(int) bool { return false }

// threadsOf is not known here.
func threadsOf(int) int { return 0 }

// unread is not known here.
func unread(*os.File) int { return 0 }

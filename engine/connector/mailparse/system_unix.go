//go:build unix

package mailparse

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return sinceStart()
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// processAttributes keep signals of a terminal from a process that is started.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

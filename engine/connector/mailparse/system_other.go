//go:build !unix

package mailparse

import (
	"syscall"
	"time"
)

// processorTime is not known here: a mail is charged for the time that passes.
func processorTime() time.Duration { return sinceStart() }

func processAttributes() *syscall.SysProcAttr { return nil }

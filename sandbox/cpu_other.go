//go:build !linux

package sandbox

import (
	"time"
)

// ownCPU is not known here: a script is charged for the time that passes.
func ownCPU() func() time.Duration { return nil }

func threadCPU() func() time.Duration { return nil }

func cpuOf(int) (time.Duration, bool) { return 0, false }

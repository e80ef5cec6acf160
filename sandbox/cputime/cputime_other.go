//go:build !linux

package cputime

import (
	"time"
)

// Own is not known here: a script is charged for the time that passes.
func Own() func() time.Duration { return nil }

// Thread is not known here.
func Thread() func() time.Duration { return nil }

// Of is not known here.
func Of(int) (time.Duration, bool) { return 0, false }

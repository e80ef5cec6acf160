package vm

import (
	"context"
	"time"
)

// Surroundings are what the process offers to all scripts that run in it.
type Surroundings struct {
	Closing context.Context // ends every call
	Scripts *Scripts
	// CPU is the processor time used by what runs this script and, at the time, nothing else; nil
	// where it is not known.
	CPU func() time.Duration
}

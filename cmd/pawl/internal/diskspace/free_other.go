//go:build !unix

package diskspace

import (
	"math"

	"github.com/pawl-run/pawl/engine/schedule"
)

// Free is not known here: a full disk is then noticed when a write fails.
func Free(string) (schedule.Size, error) { return math.MaxInt64 / 4, nil }

//go:build !linux

package confine

import (
	"errors"
	"runtime"
)

// Apply takes nothing on this operating system, and says so.
func Apply(Config) Report {
	return Report{Level: None, Missing: []string{"system calls: " + errors.ErrUnsupported.Error() + " on " +
		runtime.GOOS}}
}

// Offered is None: this system confines nothing.
func Offered() Level { return None }

// Reexec does nothing on this operating system.
func Reexec() error { return nil }

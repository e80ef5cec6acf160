//go:build !linux

package clock

import "time"

var started = time.Now()

// Elapsed is how long the process has been running. It may stand still while the machine is suspended,
// so what is waited for by it comes later, never sooner.
func Elapsed() time.Duration { return time.Since(started) }

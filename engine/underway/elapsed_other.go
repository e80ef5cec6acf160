//go:build !linux

package underway

import "time"

var started = time.Now()

// elapsed is how long the process has been running. It may stand still while the machine is suspended,
// so what is waited for by it comes later, never sooner.
func elapsed() time.Duration { return time.Since(started) }

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Elapsed is how long the machine has been up, suspended or not: a clock that cannot be set. It
// is 0 where the kernel has none.
func Elapsed() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

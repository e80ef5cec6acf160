package config

import (
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// The values of sync besides a duration.
const (
	syncAlways   = "always"
	syncInterval = "interval"
)

// defaultSyncInterval is the interval of `interval`.
const defaultSyncInterval = time.Second

// parseSync reads `always`, `interval` or a duration, which is the interval; 0 is always.
func parseSync(text string) (time.Duration, error) {
	switch text {
	case syncAlways:
		return 0, nil
	case syncInterval:
		return defaultSyncInterval, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, exit.Misconfigured("write always, interval (every second), or a duration such as 100ms",
			"sync: %q is neither always nor an interval", text)
	}
	return d, nil
}

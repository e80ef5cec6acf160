package eventlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxRate is the most that one unit of a rate may hold: runs do not begin closer together than a clock can tell.
const MaxRate = 1_000_000

// Rate is how often runs may begin (C12). The zero Rate is no bound.
type Rate struct {
	Runs int
	Per  time.Duration
}

// ParseRate reads a number of runs per second, minute or hour, as in "10/s", "300/m" or "5/h"; an empty text is no
// bound. It fails on any other text, and on a number above MaxRate.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, nil
	}
	count, unit, _ := strings.Cut(text, "/")
	per, known := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	runs, err := strconv.Atoi(count)
	if !known || err != nil || runs < 1 || runs > MaxRate || strconv.Itoa(runs) != count {
		return Rate{}, fmt.Errorf("rate %q is no number from 1 to %d per s, m or h, as in 10/s", ClipName(text), MaxRate)
	}
	return Rate{Runs: runs, Per: per}, nil
}

// Spacing is the time from the start of one run to that of the next, rounded up to the microseconds of an Instant.
func (r Rate) Spacing() time.Duration {
	if r.Runs == 0 {
		return 0
	}
	runs := time.Duration(r.Runs) * time.Microsecond
	return (r.Per + runs - 1) / runs * time.Microsecond
}

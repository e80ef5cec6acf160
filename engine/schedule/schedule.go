package schedule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// BareInterval is how often a producer without a schedule of its own runs (S2).
	BareInterval = 5 * time.Minute
	// MinInterval and MaxInterval bound what a producer may ask for.
	MinInterval = time.Second
	MaxInterval = 366 * 24 * time.Hour
)

// Schedule says when a producer is due. The zero value is not usable; [Parse] makes one. It is
// immutable and safe for concurrent use.
type Schedule struct {
	interval time.Duration
	cron     *cronSchedule
}

// Parse reads the schedule of a producer: an interval, or a cron expression with an optional zone
// (UTC without one). Its error says which field is wrong and how to write it (S2).
func Parse(p eventlog.Producer) (Schedule, error) {
	switch {
	case p.Cron != "" && p.IntervalMS != 0:
		return Schedule{}, errors.New("interval and cron are both set; keep one of them")
	case p.Cron != "":
		cron, err := parseCron(p.Cron, p.Timezone)
		if err != nil {
			return Schedule{}, err
		}
		return Schedule{cron: cron}, nil
	case p.Timezone != "":
		return Schedule{}, fmt.Errorf("timezone %q has no effect on an interval; remove it, or use cron, "+
			"e.g. cron: \"0 9 * * 1-5\"", eventlog.ClipName(p.Timezone))
	case p.IntervalMS > math.MaxInt64/int64(time.Millisecond) || p.IntervalMS < math.MinInt64/int64(time.Millisecond):
		return Schedule{}, fmt.Errorf("interval of %d ms is too long; the longest is 366d", p.IntervalMS)
	}
	if err := checkInterval(p.Interval()); err != nil {
		return Schedule{}, err
	}
	return Schedule{interval: p.Interval()}, nil
}

// Next returns when the schedule is due for the first time after the given time, in UTC.
func (s Schedule) Next(after time.Time) time.Time {
	if s.cron != nil {
		return s.cron.next(after).UTC()
	}
	return after.Add(s.interval).UTC()
}

// ParseInterval reads how an author writes an interval: Go's units and whole days, as in "30s",
// "5m", "1h30m", "1d" or "1d12h". The result has whole milliseconds and lies between MinInterval
// and MaxInterval. The error names what to write instead.
func ParseInterval(text string) (time.Duration, error) {
	unreadable := fmt.Errorf("interval %q is not a duration; write it with units d, h, m or s, "+
		"e.g. interval: \"5m\" or \"1h30m\"", eventlog.ClipName(text))
	days, rest := time.Duration(0), text
	if digits, tail, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return 0, unreadable
		}
		days, rest = time.Duration(n)*24*time.Hour, tail
	}
	part := time.Duration(0)
	if rest != "" || text == "" {
		var err error
		// A sign is refused here rather than by its value: "1d-5m" would pass the bounds.
		if part, err = time.ParseDuration(rest); err != nil || strings.ContainsAny(rest, "+-") {
			return 0, unreadable
		}
	}
	if days > MaxInterval || part > MaxInterval {
		return 0, checkInterval(max(days, part))
	}
	interval := days + part
	if err := checkInterval(interval); err != nil {
		return 0, err
	}
	if interval%time.Millisecond != 0 {
		return 0, fmt.Errorf("interval %q is finer than a millisecond; round it, e.g. interval: \"1.5s\"",
			eventlog.ClipName(text))
	}
	return interval, nil
}

func checkInterval(d time.Duration) error {
	if d < MinInterval {
		return fmt.Errorf("interval %s is too short; the shortest is 1s, e.g. interval: \"5m\"", d)
	}
	if d > MaxInterval {
		return fmt.Errorf("interval %s is too long; the longest is 366d, e.g. interval: \"1d\"", d)
	}
	return nil
}

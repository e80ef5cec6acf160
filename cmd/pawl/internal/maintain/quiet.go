package maintain

import (
	"fmt"
	"strings"
	"time"
)

// Quiet are the hours of each day in which nothing is repaired. The zero value is none.
type Quiet struct {
	// from and to are minutes of the day; a span over midnight has to before from.
	from, to int
	zone     *time.Location
}

// ParseQuiet reads HH:MM-HH:MM in a time zone.
func ParseQuiet(text string, zone *time.Location) (Quiet, error) {
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		return Quiet{}, fmt.Errorf("%q is not HH:MM-HH:MM", text)
	}
	q := Quiet{zone: zone}
	for _, end := range []struct {
		text string
		into *int
	}{{from, &q.from}, {to, &q.to}} {
		at, err := time.Parse("15:04", end.text)
		if err != nil {
			return Quiet{}, fmt.Errorf("%q is no time of the day such as 22:00", end.text)
		}
		*end.into = at.Hour()*60 + at.Minute()
	}
	if q.from == q.to {
		return Quiet{}, fmt.Errorf("%q has no length", text)
	}
	return q, nil
}

// Until is the end of the quiet hours if now is in them; otherwise the zero time.
func (q Quiet) Until(now time.Time) time.Time {
	if q.from == q.to {
		return time.Time{}
	}
	local := now.In(q.zone)
	minute := local.Hour()*60 + local.Minute()
	in, days := q.from <= minute && minute < q.to, 0
	if q.from > q.to {
		in = minute >= q.from || minute < q.to
		if minute >= q.from {
			days = 1
		}
	}
	if !in {
		return time.Time{}
	}
	return time.Date(local.Year(), local.Month(), local.Day()+days, q.to/60, q.to%60, 0, 0, q.zone)
}

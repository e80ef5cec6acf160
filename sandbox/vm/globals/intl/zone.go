package intl

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // scripts run where there are no files
)

// zones are those already read; there are only some hundred names.
var zones sync.Map // string to *time.Location

// Zone finds a zone by its name, such as "Europe/Berlin".
func Zone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "UTC") {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		if location, ok := z.(*time.Location); ok {
			return location, nil
		}
	}
	location, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" || len(name) > 64 {
		return nil, rangeErrorf("the time zone %q is not known; names are written as in \"Europe/Berlin\" or \"UTC\"",
			clip(name))
	}
	zones.Store(name, location)
	return location, nil
}

// offset writes how far a zone is from UTC at a time, such as GMT+5:30 or, long, GMT+05:30.
func (l *Locale) offset(at time.Time, long bool) string {
	_, seconds := at.Zone()
	east, west, between := l.Offsets[1], l.Offsets[2], l.Offsets[3]
	sign := east
	if seconds < 0 {
		sign, seconds = west, -seconds
	}
	hours, minutes, rest := seconds/3600, seconds/60%60, seconds%60
	switch {
	case seconds == 0 && long:
		return l.Offsets[0]
	case rest != 0 && long:
		return fmt.Sprintf("%s%02d%s%02d%s%02d", sign, hours, between, minutes, between, rest)
	case rest != 0:
		return fmt.Sprintf("%s%d%s%02d%s%02d", sign, hours, between, minutes, between, rest)
	case long:
		return fmt.Sprintf("%s%02d%s%02d", sign, hours, between, minutes)
	case minutes != 0:
		return fmt.Sprintf("%s%d%s%02d", sign, hours, between, minutes)
	}
	return fmt.Sprintf("%s%d", sign, hours)
}

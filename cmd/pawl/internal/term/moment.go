package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// momentForms are the ways to write a time, beside a duration: in RFC 3339, as lists show it, and shorter.
var momentForms = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// ReadMoment reads a time, or how long before now it is.
func ReadMoment(text string, now time.Time) (time.Time, error) {
	for _, form := range momentForms {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%q is no time; write it like 2026-01-31T08:00:00Z, 2026-01-31 or 12h", text)
	}
	return now.Add(-ago), nil
}

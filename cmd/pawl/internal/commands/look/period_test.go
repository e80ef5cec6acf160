package look

import (
	"strings"
	"testing"
	"time"
)

// A time can be written as a list shows it, as programs write it, or as how long ago it is.
func TestMoment(t *testing.T) {
	now := time.Date(2026, 10, 26, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-10-25T23:00:00+02:00": "2026-10-25T21:00:00Z",
		"2026-10-25T21:00:00.5Z":    "2026-10-25T21:00:00.5Z",
		"90m":                       "2026-10-26T06:30:00Z",
		"12h":                       "2026-10-25T20:00:00Z",
		"7d":                        "2026-10-19T08:00:00Z",
	} {
		var m moment
		if err := m.read(text, now); err != nil || m.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %s, %v; want %s", text, m.UTC().Format(time.RFC3339Nano), err, want)
		}
	}
	for text, want := range map[string]time.Time{
		"2026-10-25 21:00:07": time.Date(2026, 10, 25, 21, 0, 7, 0, time.Local),
		"2026-10-25 21:00":    time.Date(2026, 10, 25, 21, 0, 0, 0, time.Local),
		"2026-10-25":          time.Date(2026, 10, 25, 0, 0, 0, 0, time.Local),
	} {
		var m moment
		if err := m.read(text, now); err != nil || !m.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", text, m, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-3h", "d", "-1d", "1.5d", "2026-13-01", ""} {
		var m moment
		if err := m.read(text, now); err == nil || !strings.Contains(err.Error(), "is no time") {
			t.Errorf("%q: %s, %v", text, m, err)
		}
	}
}

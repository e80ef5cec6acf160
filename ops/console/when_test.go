package console

import (
	"testing"
	"time"
)

// Times are written as people write them, in UTC.
func TestWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 7, 30, 15, 0, time.UTC)
	for text, want := range map[string]string{
		"now": "2026-11-26T07:30:15Z", "today": "2026-11-26T00:00:00Z", " Yesterday ": "2026-11-25T00:00:00Z",
		"3h": "2026-11-26T04:30:15Z", "90 min": "2026-11-26T06:00:15Z", "2 days ago": "2026-11-24T07:30:15Z",
		"1w": "2026-11-19T07:30:15Z", "30 seconds": "2026-11-26T07:29:45Z", "14:05": "2026-11-26T14:05:00Z",
		"2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01 14:05": "2026-11-01T14:05:00Z",
		"2026-11-01T14:05:06": "2026-11-01T14:05:06Z", "2026-11-01T14:05:06.5+02:00": "2026-11-01T12:05:06.5Z",
	} {
		if got, ok := when(text, now); !ok || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %s, want %s", text, got.UTC().Format(time.RFC3339Nano), want)
		}
	}
	for _, text := range []string{"", "tomorrow", "h", "-3h", "3 moons", "2026-13-01", "25:00", "99999 days",
		"3h ago ago"} {
		if got, ok := when(text, now); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}

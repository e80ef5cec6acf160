package maintain

import (
	"testing"
	"time"
)

// Quiet hours end at their end, also over midnight, in their own zone.
func TestQuietHours(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	for _, c := range []struct{ hours, now, until string }{
		{"09:00-17:00", "2026-03-01T06:59:00Z", ""},
		{"09:00-17:00", "2026-03-01T07:00:00Z", "2026-03-01T15:00:00Z"},
		{"09:00-17:00", "2026-03-01T15:00:00Z", ""},
		{"22:00-06:00", "2026-03-01T20:30:00Z", "2026-03-02T04:00:00Z"},
		{"22:00-06:00", "2026-03-01T03:59:00Z", "2026-03-01T04:00:00Z"},
		{"22:00-06:00", "2026-03-01T12:00:00Z", ""},
	} {
		quiet, err := ParseQuiet(c.hours, east)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if until := quiet.Until(now); !until.IsZero() {
			got = until.UTC().Format(time.RFC3339)
		}
		if got != c.until {
			t.Errorf("%s at %s: quiet until %q, want %q", c.hours, c.now, got, c.until)
		}
	}
	if !(Quiet{}).Until(time.Now()).IsZero() {
		t.Error("no quiet hours are quiet")
	}
	for _, wrong := range []string{"", "22:00", "22-6", "25:00-06:00", "06:00-06:00"} {
		if _, err := ParseQuiet(wrong, time.UTC); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

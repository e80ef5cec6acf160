package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// dueByWatching lists when a schedule is due by watching the zone's clock minute by minute: the
// rule of the package comment, told without any calendar arithmetic.
func dueByWatching(from, to time.Time, zone *time.Location, everyHour bool,
	match func(wall time.Time) bool) []time.Time {
	var due []time.Time
	seen := map[time.Time]bool{}
	wallAt := func(t time.Time) time.Time {
		l := t.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	// The clock is watched for a day before, to know which times of the first minutes are repeated.
	previous := from.Add(-24*time.Hour - time.Minute)
	for now := from.Add(-24 * time.Hour); now.Before(to); now = now.Add(time.Minute) {
		was, wall := wallAt(previous), wallAt(now)
		if everyHour {
			if match(wall) {
				due = append(due, now)
			}
		} else {
			for missing := was.Add(time.Minute); missing.Before(wall); missing = missing.Add(time.Minute) {
				if match(missing) {
					due = append(due, previous.Add(missing.Sub(was)))
				}
			}
			if match(wall) && !seen[wall] {
				due = append(due, now)
			}
		}
		seen[wall] = true
		previous = now
	}
	slices.SortFunc(due, time.Time.Compare)
	due = slices.CompactFunc(due, time.Time.Equal)
	return slices.DeleteFunc(due, func(t time.Time) bool { return !t.After(from) || !t.Before(to) })
}

func TestS2_CronFollowsTheClockThroughEveryChange(t *testing.T) {
	changes := []struct{ zone, day string }{
		{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"},
		{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
		{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-18"}, // at midnight
		{"Australia/Lord_Howe", "2026-10-04"}, {"Australia/Lord_Howe", "2026-04-05"}, // half an hour
		{"Antarctica/Troll", "2026-03-29"}, {"Antarctica/Troll", "2026-10-25"}, // two hours
		{"Pacific/Apia", "2011-12-30"},                                        // a whole day left out
		{"Africa/Casablanca", "2026-02-15"}, {"Asia/Kathmandu", "2026-05-01"}, // shifted weeks, odd offset
	}
	is := func(n int, of ...int) bool { return slices.Contains(of, n) }
	schedules := []struct {
		cron      string
		everyHour bool
		match     func(time.Time) bool
	}{
		{"30 2 * * *", false, func(w time.Time) bool { return w.Hour() == 2 && w.Minute() == 30 }},
		{"0 0 * * *", false, func(w time.Time) bool { return w.Hour() == 0 && w.Minute() == 0 }},
		{"15,35 0-3 * * *", false, func(w time.Time) bool { return w.Hour() <= 3 && is(w.Minute(), 15, 35) }},
		{"* 1-23 * * *", false, func(w time.Time) bool { return w.Hour() >= 1 }},
		{"45 */2 * * *", false, func(w time.Time) bool { return w.Hour()%2 == 0 && w.Minute() == 45 }},
		{"20 2 * * 0", false, func(w time.Time) bool {
			return w.Weekday() == time.Sunday && w.Hour() == 2 && w.Minute() == 20
		}},
		{"0 * * * *", true, func(w time.Time) bool { return w.Minute() == 0 }},
		{"*/20 * * * *", true, func(w time.Time) bool { return w.Minute()%20 == 0 }},
		{"10 * * * 0", true, func(w time.Time) bool { return w.Weekday() == time.Sunday && w.Minute() == 10 }},
		{"5 0-23 4 * *", true, func(w time.Time) bool { return w.Day() == 4 && w.Minute() == 5 }},
	}
	for _, change := range changes {
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, change.day)
		if err != nil {
			t.Fatal(err)
		}
		from, to := day.Add(-20*time.Hour), day.Add(50*time.Hour)
		for _, s := range schedules {
			t.Run(change.zone+" "+change.day+" "+s.cron, func(t *testing.T) {
				want := dueByWatching(from, to, zone, s.everyHour, s.match)
				schedule := parse(t, eventlog.Producer{Cron: s.cron, Timezone: change.zone})
				// From anywhere, not only from one due time to the next: overdue producers and new
				// deploys start at any minute.
				for at := from; ; at = at.Add(7 * time.Minute) {
					i, exact := slices.BinarySearchFunc(want, at, time.Time.Compare)
					if exact {
						i++
					}
					if i >= len(want) {
						break
					}
					if got := schedule.Next(at); !got.Equal(want[i]) {
						t.Fatalf("after %s: got %s, want %s", at.In(zone), got.In(zone), want[i].In(zone))
					}
				}
			})
		}
	}
}

func FuzzS2_ParseCron(f *testing.F) {
	for _, cron := range []string{"0 9 * * 1-5", "*/5 * * * *", "0 0 29 2 *", "@daily", "5-1 22-2 * nov-feb fri-mon",
		"1/2 ? * * ?"} {
		f.Add(cron, "Europe/Berlin", int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, cron, zone string, unix int64) {
		s, err := schedule.Parse(eventlog.Producer{Cron: cron, Timezone: zone})
		if err != nil || cron == "" {
			return
		}
		after := time.Unix(unix%4_000_000_000, 0)
		if next := s.Next(after); !next.After(after) {
			t.Fatalf("%q in %q: after %s comes %s", cron, zone, after, next)
		}
	})
}

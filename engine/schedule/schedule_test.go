package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

func parse(t *testing.T, p eventlog.Producer) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestS2_Next(t *testing.T) {
	tests := []struct {
		name     string
		producer eventlog.Producer
		after    string
		want     []string
	}{
		{"interval", eventlog.Producer{IntervalMS: 90_000}, "2026-05-01T10:00:30Z",
			[]string{"2026-05-01T10:02:00Z", "2026-05-01T10:03:30Z"}},
		{"interval counts real time over a change of the clock", eventlog.Producer{IntervalMS: 3_600_000},
			"2026-03-29T02:30:00+02:00",
			[]string{"2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"}},
		{"cron without a zone is UTC", eventlog.Producer{Cron: "0 9 * * 1-5"}, "2026-05-01T09:00:00Z",
			[]string{"2026-05-04T09:00:00Z", "2026-05-05T09:00:00Z"}},
		{"cron in a zone", eventlog.Producer{Cron: "0 9 * * *", Timezone: "America/New_York"}, "2026-07-01T00:00:00Z",
			[]string{"2026-07-01T13:00:00Z", "2026-07-02T13:00:00Z"}},
		{"cron is strictly later", eventlog.Producer{Cron: "*/5 * * * *"}, "2026-05-01T10:05:00Z",
			[]string{"2026-05-01T10:10:00Z"}},
		{"names and lists", eventlog.Producer{Cron: "30 6,18 * jan,jul sat"}, "2026-01-01T00:00:00Z",
			[]string{"2026-01-03T06:30:00Z", "2026-01-03T18:30:00Z", "2026-01-10T06:30:00Z"}},
		{"sunday is 0 and 7", eventlog.Producer{Cron: "0 0 * * 7"}, "2026-05-01T00:00:00Z", []string{"2026-05-03T00:00:00Z"}},
		{"either day when both are restricted", eventlog.Producer{Cron: "0 0 13 * 5"}, "2026-05-01T00:00:00Z",
			[]string{"2026-05-08T00:00:00Z", "2026-05-13T00:00:00Z", "2026-05-15T00:00:00Z"}},
		{"named schedule", eventlog.Producer{Cron: "@daily", Timezone: "Asia/Tokyo"}, "2026-05-01T00:00:00Z",
			[]string{"2026-05-01T15:00:00Z"}},
		{"leap day over a century without one", eventlog.Producer{Cron: "0 0 29 2 *"}, "2097-01-01T00:00:00Z",
			[]string{"2104-02-29T00:00:00Z"}},
		{"gap: as long after the jump", eventlog.Producer{Cron: "30 2 * * *", Timezone: "Europe/Berlin"},
			"2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}}, // 03:30 +02:00, then 02:30 +02:00
		{"gap: still due just after the jump", eventlog.Producer{Cron: "30 2 * * *", Timezone: "Europe/Berlin"},
			"2026-03-29T03:10:00+02:00",
			[]string{"2026-03-29T01:30:00Z"}},
		{"gap at midnight", eventlog.Producer{Cron: "0 0 * * *", Timezone: "America/Sao_Paulo"}, "2018-11-03T12:00:00-03:00",
			[]string{"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
		{"overlap: once, the first time", eventlog.Producer{Cron: "30 2 * * *", Timezone: "Europe/Berlin"},
			"2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"overlap: not again from between", eventlog.Producer{Cron: "30 2 * * *", Timezone: "Europe/Berlin"},
			"2026-10-25T02:10:00+01:00",
			[]string{"2026-10-26T01:30:00Z"}},
		{"overlap: every hour is real hours", eventlog.Producer{Cron: "0 * * * *", Timezone: "Europe/Berlin"},
			"2026-10-25T01:30:00+02:00",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		{"gap: every hour is real hours", eventlog.Producer{Cron: "*/30 * * * *", Timezone: "Europe/Berlin"},
			"2026-03-29T01:30:00+01:00",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		{"the day a country left out", eventlog.Producer{Cron: "0 12 30 12 *", Timezone: "Pacific/Apia"},
			"2011-12-29T13:00:00-10:00",
			[]string{"2011-12-30T22:00:00Z", "2012-12-29T22:00:00Z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, at := parse(t, tt.producer), instant(t, tt.after)
			for _, want := range tt.want {
				got := s.Next(at)
				if !got.Equal(instant(t, want)) {
					t.Fatalf("after %s: got %s, want %s", at, got, want)
				}
				if got.Location() != time.UTC {
					t.Fatalf("got a time in %s, want UTC", got.Location())
				}
				at = got
			}
		})
	}
}

func TestS2_BadScheduleIsRefused(t *testing.T) {
	tests := []struct {
		name     string
		producer eventlog.Producer
		want     []string
	}{
		{"nothing", eventlog.Producer{}, []string{"interval", "too short", `interval: "5m"`}},
		{"both", eventlog.Producer{IntervalMS: 1000, Cron: "* * * * *"}, []string{"interval and cron"}},
		{"too short", eventlog.Producer{IntervalMS: 999}, []string{"999ms", "shortest is 1s"}},
		{"too long", eventlog.Producer{IntervalMS: 367 * 86_400_000}, []string{"longest is 366d"}},
		{"overflow", eventlog.Producer{IntervalMS: 1 << 62}, []string{"too long"}},
		{"zone on interval", eventlog.Producer{IntervalMS: 1000, Timezone: "UTC"}, []string{"timezone", "no effect"}},
		{"four fields", eventlog.Producer{Cron: "* * * *"}, []string{"4 fields", "five fields"}},
		{"six fields", eventlog.Producer{Cron: "* * * * * *"}, []string{"6 fields", `cron: "0 9 * * 1-5"`}},
		{"minute", eventlog.Producer{Cron: "60 * * * *"}, []string{`the minute "60"`}},
		{"hour", eventlog.Producer{Cron: "0 24 * * *"}, []string{`the hour "24"`}},
		{"month", eventlog.Producer{Cron: "0 0 * foo *"}, []string{`the month "foo"`}},
		{"weekday", eventlog.Producer{Cron: "0 0 * * 8"}, []string{`the day of week "8"`}},
		{"step", eventlog.Producer{Cron: "*/0 * * * *"}, []string{`the minute "*/0"`}},
		{"empty item", eventlog.Producer{Cron: "1,,2 * * * *"}, []string{`the minute "1,,2"`, "empty item"}},
		{"never", eventlog.Producer{Cron: "0 0 30 2 *"}, []string{"never runs"}},
		{"never, list", eventlog.Producer{Cron: "0 0 31 4,6,9,11 *"}, []string{"never runs"}},
		{"every", eventlog.Producer{Cron: "@every 5m"}, []string{"is an interval"}},
		{"reboot", eventlog.Producer{Cron: "@reboot"}, []string{"@hourly"}},
		{"zone inside", eventlog.Producer{Cron: "TZ=Europe/Berlin 0 0 * * *"}, []string{"put it into timezone"}},
		{"unknown zone", eventlog.Producer{Cron: "0 0 * * *", Timezone: "Mars/Olympus"},
			[]string{`timezone "Mars/Olympus"`, "IANA"}},
		{"local zone", eventlog.Producer{Cron: "0 0 * * *", Timezone: "Local"}, []string{`timezone "Local"`}},
		{"path as zone", eventlog.Producer{Cron: "0 0 * * *", Timezone: "../../etc/passwd"}, []string{"timezone"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schedule.Parse(tt.producer)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestS2_ParseInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "1d": 24 * time.Hour, "1d12h": 36 * time.Hour,
		"1.5s": 1500 * time.Millisecond, "366d": schedule.MaxInterval, "1s": time.Second, "365d24h": schedule.MaxInterval,
	} {
		if got, err := schedule.ParseInterval(text); err != nil || got != want {
			t.Errorf("ParseInterval(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "5", "m", "five minutes", "-5m", "1d-5m", "1d+5m", "999ms", "0s", "367d", "366d1s", "-1d", "+1d", "1h1d", "1d1d",
		"1.5d", "1500.5ms", "99999d", "65535d2540400h", "9223372036s", "1s1ns",
	} {
		if got, err := schedule.ParseInterval(text); err == nil {
			t.Errorf("ParseInterval(%q) = %s, want an error", text, got)
		} else if !strings.Contains(err.Error(), "interval") {
			t.Errorf("ParseInterval(%q): error %q does not name the field", text, err)
		}
	}
}

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known in containers without a zone database

	cron "github.com/netresearch/go-cron"

	"github.com/pawl-run/pawl/eventlog"
)

// everyHour are the bits of an hour field that leaves no hour out.
const everyHour = 1<<24 - 1

// cronFields name the five fields in their order, for messages.
var cronFields = [5]string{"minute", "hour", "day of month", "month", "day of week"}

// cronExample ends every message about a bad expression.
const cronExample = `write five fields: minute, hour, day of month, month, day of week, e.g. cron: "0 9 * * 1-5"`

// cronParser reads five fields and @daily and the like. A day matches if either the day of the
// month or the day of the week does, as crontab(5) has it when both are restricted. The search
// must reach over the longest gap of a real schedule: a leap day that also has to be one of some
// weekdays (`0 0 29 2 */2`) around a century without one, which is less than 40 years.
var cronParser = cron.MustNewParser(
	cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom).
	WithMaxSearchYears(41)

// cronSchedule matches local times. The library only sees them as if they were UTC, where every
// day has 24 hours: what happens when clocks change is decided here (see the package comment).
type cronSchedule struct {
	local     cron.Schedule
	everyHour bool
	zone      *time.Location
}

func parseCron(text, timezone string) (*cronSchedule, error) {
	zone, err := loadZone(timezone)
	if err != nil {
		return nil, err
	}
	if err := checkCronText(text); err != nil {
		return nil, err
	}
	parsed, err := cronParser.Parse(text)
	if err != nil {
		return nil, cronError(text, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("cron %q is not a calendar schedule; %s", eventlog.ClipName(text), cronExample)
	}
	spec.Location = time.UTC
	// Calendars repeat, so any starting point shows whether there is a match at all.
	if spec.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("cron %q never runs: no month it names has such a day; %s", eventlog.ClipName(text),
			cronExample)
	}
	return &cronSchedule{local: spec, everyHour: spec.Hour&everyHour == everyHour, zone: zone}, nil
}

// loadZone accepts IANA names only: "Local" would mean something else on every machine.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("timezone %q is not known; write an IANA name, e.g. timezone: \"Europe/Berlin\" or \"UTC\"",
			eventlog.ClipName(name))
	}
	return zone, nil
}

// checkCronText refuses what the library would take and an author would not mean.
func checkCronText(text string) error {
	switch {
	case strings.Contains(text, "TZ="):
		return fmt.Errorf("cron %q holds a zone; put it into timezone, e.g. timezone: \"Europe/Berlin\"",
			eventlog.ClipName(text))
	case strings.HasPrefix(text, "@every"):
		return fmt.Errorf("cron %q is an interval; write it as one, e.g. interval: \"5m\"", eventlog.ClipName(text))
	case strings.HasPrefix(text, "@"):
		return nil
	}
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return fmt.Errorf("cron %q has %d fields; %s", eventlog.ClipName(text), len(fields), cronExample)
	}
	for i, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			if item == "" {
				return cronFieldError(text, i, field, errors.New("an empty item in the list"))
			}
		}
	}
	return nil
}

// cronError finds the field the library stumbles over by parsing each one alone.
func cronError(text string, err error) error {
	if strings.HasPrefix(text, "@") {
		return fmt.Errorf("cron %q is not one of @hourly, @daily, @weekly, @monthly and @yearly; %s",
			eventlog.ClipName(text), cronExample)
	}
	for i, field := range strings.Fields(text) {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = field
		if _, err := cronParser.Parse(strings.Join(alone, " ")); err != nil {
			return cronFieldError(text, i, field, err)
		}
	}
	return fmt.Errorf("cron %q: %w; %s", eventlog.ClipName(text), err, cronExample)
}

func cronFieldError(text string, i int, field string, err error) error {
	return fmt.Errorf("cron %q: the %s %q is wrong: %w; %s", eventlog.ClipName(text), cronFields[i],
		eventlog.ClipName(field), err, cronExample)
}

func (s *cronSchedule) next(after time.Time) time.Time {
	if s.everyHour {
		return s.nextReal(after)
	}
	return s.nextLocal(after)
}

// nextReal finds the first match of the running clock. Between two changes of the clock local time
// runs like UTC, so it goes from one such stretch to the next.
func (s *cronSchedule) nextReal(after time.Time) time.Time {
	at := after.In(s.zone)
	from := wallOf(at)
	for {
		_, end := at.ZoneBounds()
		wall := s.local.Next(from)
		if wall.IsZero() {
			return time.Time{}
		}
		if due := wall.Add(-offset(at)); end.IsZero() || due.Before(end) {
			return due
		}
		// The very first moment after the change may match.
		at, from = end, wallOf(end).Add(-time.Nanosecond)
	}
}

// nextLocal finds the first local time that matches and turns it into an instant.
func (s *cronSchedule) nextLocal(after time.Time) time.Time {
	at := after.In(s.zone)
	from := wallOf(at)
	// Shortly after a jump forward, local times inside the gap are still to come: they are due as
	// long after the jump as they lie behind its beginning.
	if start, _ := at.ZoneBounds(); !start.IsZero() {
		if gap := offset(at) - offset(start.Add(-time.Nanosecond)); after.Sub(start) < gap {
			from = from.Add(-gap)
		}
	}
	var due time.Time
	for wall := s.local.Next(from); !wall.IsZero(); wall = s.local.Next(wall) {
		if instant := s.instant(wall); instant.After(after) && (due.IsZero() || instant.Before(due)) {
			due = instant
		}
		// A time inside a gap moves behind later local times, so the first one found is not
		// always the first one due. No match from here on can be due earlier.
		if !due.IsZero() && !wall.Before(wallOf(due.In(s.zone))) {
			break
		}
	}
	return due
}

// instant is when the zone's clocks first show the local time; if they never do, it is read with
// the offset that held before the jump.
func (s *cronSchedule) instant(wall time.Time) time.Time {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, s.zone)
	start, end := guess.ZoneBounds()
	own := wall.Add(-offset(guess))
	before := own
	if !start.IsZero() {
		before = wall.Add(-offset(start.Add(-time.Nanosecond)))
		if before.Before(start) {
			return before
		}
		if own.Before(start) {
			return before // in the gap at start
		}
	}
	if end.IsZero() || own.Before(end) {
		return own
	}
	if next := wall.Add(-offset(end)); !next.Before(end) {
		return next
	}
	return own // in the gap at end
}

// wallOf is the local time of t as if it were UTC.
func wallOf(t time.Time) time.Time { return t.UTC().Add(offset(t)) }

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

package deploy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// scheduleFix says which member of a wrong schedule to correct, and into what: an accepted value that is as near as
// possible to what was written.
func scheduleFix(p sandbox.ProducerDefinition) (member, fix string) {
	const examples = `write interval: "5m", or cron: "0 9 * * 1-5" with timezone: "Europe/Berlin"`
	switch {
	case p.Interval != "" && p.Cron != "":
		return "cron", "keep interval or cron, and remove the other"
	case p.Interval != "":
		if _, err := schedule.ParseInterval(p.Interval); err != nil {
			if isCron(p.Interval, "") {
				return "interval", fmt.Sprintf("write cron: %q", eventlog.ClipName(p.Interval))
			}
			if text := SuggestInterval(p.Interval); text != "" {
				return "interval", fmt.Sprintf("write interval: %q", text)
			}
			return "interval", examples
		}
		return "timezone", "remove timezone, which only a cron expression has; an interval is the same everywhere"
	case p.Cron != "":
		if !isCron("* * * * *", p.Timezone) {
			return "timezone", `write an IANA name: timezone: "Europe/Berlin", or "UTC"`
		}
		if text := suggestCron(p.Cron); text != "" {
			return "cron", "write " + text
		}
		return "cron", examples
	}
	return "timezone", examples
}

func isCron(text, zone string) bool {
	_, err := schedule.Parse(eventlog.Producer{Cron: text, Timezone: zone})
	return err == nil
}

// spoken is how people write an interval: "every 5 minutes", "1 hour", "30", "2 hrs".
var spoken = regexp.MustCompile(`(?i)^\s*(?:every\s+|@every\s+)?(\d{1,6})?\s*([a-z]*)\s*$`)

// SuggestInterval makes a usable interval out of any text; empty where none can be recognised in it.
func SuggestInterval(text string) string {
	parts := spoken.FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	number, unit := parts[1], strings.ToLower(parts[2])
	if number == "" {
		if unit == "" {
			return ""
		}
		number = "1"
	}
	switch unit {
	case "m", "min", "mins", "minute", "minutes", "minutely":
		unit = "m"
	case "h", "hr", "hrs", "hour", "hours", "hourly":
		unit = "h"
	case "d", "day", "days", "daily":
		unit = "d"
	case "", "s", "sec", "secs", "second", "seconds":
		unit = "s"
	default:
		return ""
	}
	suggested := number + unit
	if _, err := schedule.ParseInterval(suggested); err != nil {
		return ""
	}
	return suggested
}

// suggestCron makes members of a schedule out of a text that is no cron expression.
func suggestCron(text string) string {
	if rest, ok := strings.CutPrefix(text, "@every"); ok {
		if interval := SuggestInterval(rest); interval != "" {
			return fmt.Sprintf("interval: %q", interval)
		}
	}
	if _, err := schedule.ParseInterval(text); err == nil {
		return fmt.Sprintf("interval: %q", eventlog.ClipName(text))
	}
	fields := strings.Fields(text)
	// In most tools that know six fields the first one is the seconds; in others the last one is the year.
	if len(fields) == 6 {
		for _, five := range [][]string{fields[1:], fields[:5]} {
			joined := strings.ReplaceAll(strings.Join(five, " "), "?", "*")
			if isCron(joined, "") {
				return fmt.Sprintf("cron: %q", eventlog.ClipName(joined))
			}
		}
	}
	if interval := SuggestInterval(text); interval != "" {
		return fmt.Sprintf("interval: %q", interval)
	}
	return ""
}

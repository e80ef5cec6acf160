package console

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// layouts are the forms in which a person writes a time, in UTC unless it has another zone.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04", "2006-01-02"}

// agoForm is a length of time before now, such as "3h" or "2 days ago".
var agoForm = regexp.MustCompile(`^(\d{1,4}) ?(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)(?: ago)?$`)

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'w': 7 * day}

// when reads a time that a person has written.
func when(text string, now time.Time) (time.Time, bool) {
	now = now.UTC()
	today := now.Truncate(day)
	text = strings.TrimSpace(text)
	switch word := strings.ToLower(text); word {
	case "now":
		return now, true
	case "today":
		return today, true
	case "yesterday":
		return today.Add(-day), true
	default:
		if m := agoForm.FindStringSubmatch(word); m != nil {
			n, err := strconv.Atoi(m[1])
			return now.Add(-time.Duration(n) * units[m[2][0]]), err == nil
		}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	if t, err := time.Parse("15:04", text); err == nil {
		return today.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute), true
	}
	return time.Time{}, false
}

// between adds the period of a list to the fields.
func (v *visit) between(fields map[string]any, query url.Values) error {
	for _, name := range []string{"since", "until"} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		at, ok := when(text, v.cfg.Now())
		if !ok {
			return rpc.Malformed("time.invalid", "“%s” is no time that this page understands.", clip(40, text)).
				WithHint("Write yesterday, 3h, 2 days, 14:30, 2026-11-25 or 2026-11-25 14:30, in UTC.")
		}
		fields[name] = at.Format(time.RFC3339Nano)
	}
	return nil
}

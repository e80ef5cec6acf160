package deploy

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// maxKeyPath bounds the path of a key in bytes.
const maxKeyPath = 256

// concurrency checks what a consumer says of runs at the same time, and takes it over (C1, C2, C12).
func (c *check) concurrency(d sandbox.ConsumerDefinition, consumer *eventlog.Consumer) {
	name := eventlog.ClipName(d.Name)
	consumer.Key, consumer.Rate = d.Key, d.Rate
	switch {
	case d.Concurrency == nil:
		for _, option := range [][2]string{{"key", d.Key}, {"rate", d.Rate}} {
			if option[1] != "" && !c.in.Definition.Lacks("consumers", d.Name, "concurrency") {
				c.refuse(CodeConcurrency, "add concurrency: 16, the number of events at once, or remove "+option[0],
					"consumer %q has %s, which means nothing without concurrency", name, option[0])
				c.at(c.place("consumers", d.Name, option[0]))
			}
		}
	case *d.Concurrency < 1 || *d.Concurrency > eventlog.MaxConcurrency:
		c.refuse(CodeConcurrency, fmt.Sprintf("write concurrency: %d", min(max(*d.Concurrency, 1), eventlog.MaxConcurrency)),
			"consumer %q: concurrency must be a whole number from 1 to %d, and is %d", name, eventlog.MaxConcurrency,
			*d.Concurrency)
		c.at(c.place("consumers", d.Name, "concurrency"))
	default:
		consumer.Concurrency = *d.Concurrency
	}
	if d.Key != "" && !usableKey(d.Key) {
		fix := `write the names on the way to it, joined by dots: key: "customer.id"`
		if path := SuggestKey(d.Key); path != "" {
			fix = fmt.Sprintf("write key: %q", eventlog.ClipName(path))
		}
		c.refuse(CodeKey, fix, "consumer %q: key %q is no path into the payload", name, eventlog.ClipName(d.Key))
		c.at(c.place("consumers", d.Name, "key"))
	}
	if _, err := eventlog.ParseRate(d.Rate); err != nil {
		fix := `write how many runs may begin in a second, a minute or an hour: rate: "10/s", "300/m" or "500/h"`
		if rate := SuggestRate(d.Rate); rate != "" {
			fix = fmt.Sprintf("write rate: %q", rate)
		}
		c.refuse(CodeConcurrency, fix, "consumer %q: %v", name, err)
		c.at(c.place("consumers", d.Name, "rate"))
	}
}

// usableKey reports whether a path names something: it is written as SuggestKey would write it.
func usableKey(path string) bool {
	return len(path) <= maxKeyPath && SuggestKey(path) == path && !strings.ContainsFunc(path, unicode.IsControl)
}

// bracketed is how other languages write a step of a path: [0], ["id"].
var bracketed = regexp.MustCompile(`\[\s*(?:(\d+)|"([^"\]]*)"|'([^'\]]*)')\s*\]`)

// SuggestKey makes the path of a key out of how other languages write one: $.customer.id, items[0].id, /customer/id or
// customer?.id. It is empty where nothing can be made of it.
func SuggestKey(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "/") {
		text = strings.ReplaceAll(text, "/", ".")
	}
	text = bracketed.ReplaceAllString(text, ".$1$2$3")
	var parts []string
	for part := range strings.SplitSeq(text, ".") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "?")
		switch {
		case part == "*" || strings.HasSuffix(part, "[*]") || strings.HasSuffix(part, "[]"):
			return "" // a key is one value
		case part != "" && part != "$":
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// spokenRate is how people write a rate: "10 per second", "10/sec", "0.5/s", "100 rpm".
var spokenRate = regexp.MustCompile(`(?i)^\s*(\d{1,7}(?:\.\d{1,6})?)\s*(?:/|per|a|an|each|r/|rp)?\s*1?\s*([a-z]+)\s*$`)

// SuggestRate makes a usable rate, never a faster one, out of how people write one; empty where that is not certain.
func SuggestRate(text string) string {
	parts := spokenRate.FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	runs, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return ""
	}
	const day = 24 * 3600
	seconds, known := map[string]float64{
		"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
		"h": 3600, "hr": 3600, "hour": 3600, "hours": 3600, "d": day, "day": day, "days": day,
	}[strings.ToLower(parts[2])]
	if !known {
		return ""
	}
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"s", 1}, {"m", 60}, {"h", 3600}} {
		n := runs * unit.seconds / seconds
		if unit.seconds < seconds && seconds < day || n < 1 || n != math.Trunc(n) && unit.name != "h" {
			continue // the author's own unit is the shortest one
		}
		rate := strconv.Itoa(int(n)) + "/" + unit.name
		if _, err := eventlog.ParseRate(rate); err == nil {
			return rate
		}
	}
	return ""
}

package effectdiff

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// maxNamed bounds how many handlers of a kind NotCompared names.
const maxNamed = 10

// NotCompared names the parts of the new script that were not compared: next where the answer to its call is not known,
// and handlers without a recorded run. It is empty where there are none.
func NotCompared(after *eventlog.Definition, effects []Effect) string {
	runs, unknown := map[eventlog.Handler]int{}, map[eventlog.Handler]int{}
	for _, e := range effects {
		if runs[e.Handler]++; e.NextUnknown {
			unknown[e.Handler]++
		}
	}
	var nexts, producers, unseen []string
	for _, c := range after.Consumers {
		if name := string(c.Name); runs[c.Name] == 0 {
			unseen = append(unseen, name)
		} else if n := unknown[c.Name]; n > 0 {
			nexts = append(nexts, fmt.Sprintf("%s (%d of %s)", name, n, eventlog.Count(runs[c.Name], "run")))
		}
	}
	for _, p := range after.Producers {
		if runs[p.Name] == 0 {
			producers = append(producers, string(p.Name))
		}
	}
	var parts []string
	for _, left := range []struct {
		what string
		of   []string
	}{{"what next does after a call whose answer is not known: %s", nexts},
		{"producers without a recorded run (%s)", producers}, {"consumers without a recorded run (%s)", unseen}} {
		if len(left.of) > 0 {
			parts = append(parts, fmt.Sprintf(left.what, named(left.of)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not compared: " + strings.Join(parts, "; ") + ". Try them with pawl test"
}

// named lists the first of the handlers, and says how many more there are.
func named(handlers []string) string {
	text := strings.Join(handlers[:min(len(handlers), maxNamed)], ", ")
	if more := len(handlers) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

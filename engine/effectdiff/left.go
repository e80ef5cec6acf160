package effectdiff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// maxNamed bounds how many handlers of a kind NotCompared names.
const maxNamed = 10

// NotCompared says which parts of the new script the effects say nothing of: next, which is not run, producers, of
// which nothing is recorded, and consumers without a recorded run. It is empty where there are none.
func NotCompared(after *eventlog.Definition, effects []Effect) string {
	var nexts, producers, unseen []eventlog.Handler
	for _, c := range after.Consumers {
		if !slices.ContainsFunc(effects, func(e Effect) bool { return e.Handler == c.Name }) {
			unseen = append(unseen, c.Name)
		} else if c.HasNext {
			nexts = append(nexts, c.Name)
		}
	}
	for _, p := range after.Producers {
		producers = append(producers, p.Name)
	}
	var parts []string
	for _, left := range []struct {
		what string
		of   []eventlog.Handler
	}{{"what next of %s does", nexts}, {"producers (%s)", producers}, {"consumers without a recorded run (%s)", unseen}} {
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
func named(handlers []eventlog.Handler) string {
	var names []string
	for _, h := range handlers[:min(len(handlers), maxNamed)] {
		names = append(names, string(h))
	}
	text := strings.Join(names, ", ")
	if more := len(handlers) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

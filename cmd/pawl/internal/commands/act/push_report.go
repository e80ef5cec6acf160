package act

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// fewPushed is the largest number of events that get a line each without --verbose.
const fewPushed = 30

// pushReport prints what became of events: a line for each if they are few or --verbose is set, and a total.
type pushReport struct {
	screen    term.Screen
	json, all bool

	lines   []string // they are printed at the end, unless there are too many
	events  int
	results map[string]int
	ended   int // how many had ended already: a push does not bring them back
	aside   int // of these, how many were skipped or discarded
}

// add adds the engine's answers for some events.
func (r *pushReport) add(answers []json.RawMessage) error {
	for _, answer := range answers {
		var became struct{ MessageID, Result, Status string }
		if err := json.Unmarshal(answer, &became); err != nil {
			return fmt.Errorf("read the engine's answer to the push: %w", err)
		}
		if r.results == nil {
			r.results = map[string]int{}
		}
		r.results[became.Result]++
		switch eventlog.EventStatus(became.Status) {
		case eventlog.EventStatusConsumed:
			r.ended++
		case eventlog.EventStatusSkipped, eventlog.EventStatusDiscarded:
			r.ended++
			r.aside++
		}
		r.events++
		if r.json {
			if err := r.screen.JSON(answer); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%s\t%s\t%s", term.OneLine(became.MessageID, 512), became.Result, became.Status)
		switch {
		case r.all:
			fmt.Fprintln(r.screen.Out, line)
		case r.events <= fewPushed:
			r.lines = append(r.lines, line)
		default:
			r.lines = nil
		}
	}
	return nil
}

// close prints the lines of a few events, and the total of several if all were pushed.
func (r *pushReport) close(whole bool) error {
	for _, line := range r.lines {
		if _, err := fmt.Fprintln(r.screen.Out, line); err != nil {
			return err
		}
	}
	if !whole || r.events < 2 {
		return nil
	}
	var counts []string
	for _, result := range slices.Sorted(maps.Keys(r.results)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.results[result], result))
	}
	total := strings.Join(counts, ", ")
	if r.ended > 0 {
		total += fmt.Sprintf("; %s had ended already, which a push does not change", term.Plural(r.ended, "event"))
	}
	if r.aside > 0 {
		total += "; pawl redrive brings back skipped and discarded ones"
	}
	_, err := fmt.Fprintf(r.screen.Err, "%s: %s\n", term.Plural(r.events, "event"), total)
	return err
}

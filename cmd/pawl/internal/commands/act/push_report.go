package act

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// fewPushed is how many events get a line each, at most, where no such lines are asked for.
const fewPushed = 30

// pushReport says what became of events: a line for each, as long as they are few or that is asked for, and a total.
type pushReport struct {
	screen    term.Screen
	json, all bool

	lines   []string // not printed yet: there may be too many
	events  int
	results map[string]int
}

// add takes the engine's answers for some events.
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
	_, err := fmt.Fprintf(r.screen.Err, "%s: %s\n", term.Plural(r.events, "event"), strings.Join(counts, ", "))
	return err
}

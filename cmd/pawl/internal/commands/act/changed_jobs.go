package act

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
)

// changedJobs is the answer of a bulk operation.
type changedJobs struct {
	Matched  int       `json:"matched"`
	More     bool      `json:"more"` // of a count: more events fit than the filter's limit, or than one request changes
	Updated  int       `json:"updated"`
	AtRunEnd int       `json:"atRunEnd,omitempty"` // of the updated ones: those that end only once next has run (O7)
	Noop     []leftJob `json:"noop"`

	limited bool // the filter has a limit
}

type leftJob struct {
	Topic     string `json:"topic"`
	MessageID string `json:"messageId"`
	Reason    string `json:"reason"`
}

func (c *jobsAction) change(engine *client.Finder, screen term.Screen, operation, verb, done string) error {
	params, err := c.params(verb)
	if err != nil {
		return err
	}
	if c.Rate != nil && *c.Rate < 1 {
		return exit.Misconfigured("leave it out to change all as fast as possible",
			"--rate is %d; it must be a number of 1 or more", *c.Rate)
	}
	if c.unknown {
		params["includingUnknown"] = true
	}
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	if c.DryRun || c.Where != "" {
		matched, err := c.count(connected, operation, params)
		if err != nil || c.DryRun || matched.Matched == 0 {
			return err
		}
		// Exactly the events that are chosen now are changed, and none that comes later (C11).
		chosen, skipped, err := c.choose(connected, decide.EventAction(verb), params)
		if err != nil {
			return err
		}
		if !c.Yes {
			events := term.Plural(len(chosen), "event")
			if matched.cut() {
				events = "the oldest " + events
			}
			question := fmt.Sprintf("%s %s of %s", verb, events, c.Name)
			if skipped > 0 && skipped == len(chosen) {
				question += ", skipped or cancelled before"
			} else if skipped > 0 {
				question += fmt.Sprintf(", %d of them skipped or cancelled before", skipped)
			}
			question += "?"
			if err := confirm(screen, question); err != nil {
				return err
			}
		}
		for _, filter := range filters {
			if filter != "held" && filter != "state" { // an event that has changed since is left as it is
				delete(params, filter)
			}
		}
		params["items"] = chosen
	}
	sum, err := c.changeAll(connected, operation, params, done)
	if err != nil {
		return err
	}
	return printChanged(screen, connected, sum, done, c.Name)
}

// changeAll changes the events, each once. If it used the filter again and again instead, it would change those several
// times that fail again at once.
func (c *jobsAction) changeAll(connected *client.Connection, operation string, params map[string]any,
	done string) (changedJobs, error) {
	goesOn := func() error { return connected.Ctx.Err() } // an error once the command is interrupted
	at, pace := maxAtOnce, goesOn
	if c.Rate != nil {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		at, pace = min(*c.Rate, maxAtOnce), func() error {
			select {
			case <-second.C:
			case <-connected.Ctx.Done():
			}
			return goesOn()
		}
	}
	sum := changedJobs{Noop: []leftJob{}}
	err := inPace(params["items"].([]jobRef), at, pace, func(chunk []jobRef) error {
		var part changedJobs
		params["items"] = chunk
		if err := connected.Call(operation, params, &part); err != nil {
			return err
		}
		sum.Matched += part.Matched
		sum.Updated += part.Updated
		sum.AtRunEnd += part.AtRunEnd
		sum.Noop = append(sum.Noop, part.Noop...)
		return nil
	})
	if err != nil && sum.Updated > 0 {
		fmt.Fprintf(connected.Screen.Err, "%s: %s so far\n", done, term.Plural(sum.Updated, "event"))
	}
	return sum, err
}

// inPace sends the events in chunks of at most at events, with a pause between two chunks.
func inPace(events []jobRef, at int, pause func() error, send func([]jobRef) error) error {
	first := true
	for chunk := range slices.Chunk(events, at) {
		if !first {
			if err := pause(); err != nil {
				return err
			}
		}
		first = false
		if err := send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// printChanged prints what was changed and what was not; partial success is no error (J4).
func printChanged(screen term.Screen, c *client.Connection, sum changedJobs, done, workflow string) error {
	if c.JSON {
		if err := printValue(screen, sum); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(screen.Out, "%s: %d of %s\n", done, sum.Updated-sum.AtRunEnd, term.Plural(sum.Matched, "event"))
		if sum.AtRunEnd > 0 {
			fmt.Fprintf(screen.Out, "%s once next has run: %s; pawl why %s says what that waits for\n", done,
				term.Plural(sum.AtRunEnd, "event"), workflow)
		}
		const most = 20
		for i, left := range sum.Noop {
			if i == most {
				fmt.Fprintf(screen.Err, "  … and %d more; --json lists all\n", len(sum.Noop)-most)
				break
			}
			fmt.Fprintf(screen.Err, "  not %s/%s: %s\n", left.Topic, term.OneLine(left.MessageID, 80),
				term.OneLine(left.Reason, 300))
		}
	}
	if sum.Updated == 0 && len(sum.Noop) > 0 {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

// count says how many events would be changed, and changes none.
func (c *jobsAction) count(connected *client.Connection, operation string, params map[string]any) (changedJobs, error) {
	params["dryRun"] = true
	defer delete(params, "dryRun")
	var matched changedJobs
	if err := connected.Call(operation, params, &matched); err != nil {
		return matched, err
	}
	_, matched.limited = params["limit"]
	screen := connected.Screen
	switch {
	case c.DryRun && c.JSON:
		return matched, printValue(screen, matched)
	case c.DryRun:
		fmt.Fprintf(screen.Out, "%s; nothing was changed\n", matched)
	case matched.Matched == 0 && c.JSON:
		return matched, printValue(screen, matched)
	case matched.Matched == 0:
		fmt.Fprintf(screen.Out, "no event of %s fits %s\n", c.Name, c.Where)
	}
	return matched, nil
}

// cut reports whether the filter's own limit leaves out events that fit.
func (j changedJobs) cut() bool { return j.More && j.limited }

// String counts what a filter has chosen.
func (j changedJobs) String() string {
	events := term.Plural(j.Matched, "event")
	switch {
	case j.cut():
		return "the oldest " + events
	case j.More:
		return "more than " + events
	}
	return events
}

// printValue writes a value as one JSON document.
func printValue(screen term.Screen, value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return screen.JSON(document)
}

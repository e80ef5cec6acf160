package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/projections"
)

// jobsAction changes what becomes of events: those named, or those that a filter chooses.
type jobsAction struct {
	clientFlags
	Name      string   `arg:"" name:"workflow" help:"The workflow."`
	Topic     string   `arg:"" optional:"" help:"The topic; left out with --where."`
	MessageID []string `arg:"" optional:"" name:"message-id" help:"The events' message ids."`
	Where     string   `placeholder:"state=STATE,q=TEXT" help:"Instead of naming events, those that fit: any of topic=, state=, status=, q=, limit=."`
	Reason    string   `placeholder:"TEXT" help:"Why, for the record."`
	Yes       bool     `short:"y" help:"Do not ask before changing what --where chooses."`
	DryRun    bool     `help:"Only say how many would be changed."`
	Rate      *int     `placeholder:"N" help:"Change at most N events per second, so that what follows from it comes evenly."`

	unknown bool // redrive what may repeat an effect too (O11)
}

type (
	skipCmd    struct{ jobsAction }
	cancelCmd  struct{ jobsAction }
	redriveCmd struct {
		jobsAction
		IncludingUnknown bool `help:"Also those that ended as skipped after a call that was applied or whose outcome nobody knew: that may repeat its effect."`
	}
)

func (c *skipCmd) Run(engine *finder, screen term.Screen) error {
	return c.change(engine, screen, "skipEvents", "skip", "skipped")
}
func (c *cancelCmd) Run(engine *finder, screen term.Screen) error {
	return c.change(engine, screen, "cancelEvents", "cancel", "cancelled")
}
func (c *redriveCmd) Run(engine *finder, screen term.Screen) error {
	c.unknown = c.IncludingUnknown
	return c.change(engine, screen, "redriveEvents", "redrive", "redriven")
}

// changedJobs is the answer of a bulk operation.
type changedJobs struct {
	Matched int       `json:"matched"`
	More    bool      `json:"more"` // than one request would change; of a count
	Updated int       `json:"updated"`
	Noop    []leftJob `json:"noop"`
}

type leftJob struct {
	Topic     string `json:"topic"`
	MessageID string `json:"messageId"`
	Reason    string `json:"reason"`
}

func (c *jobsAction) change(engine *finder, screen term.Screen, operation, verb, done string) error {
	params, err := c.params(verb)
	if err != nil {
		return err
	}
	if c.Rate != nil && *c.Rate < 1 {
		return exit.Misconfigured("leave it out to change all as fast as possible", "--rate is %d; it must be a number of 1 or more", *c.Rate)
	}
	if c.unknown {
		params["includingUnknown"] = true
	}
	connected, err := engine.connect(c.clientFlags)
	if err != nil {
		return err
	}
	if c.DryRun || c.Where != "" {
		matched, err := c.count(connected, operation, params)
		if err != nil || c.DryRun || matched.Matched == 0 {
			return err
		}
		if !c.Yes {
			if err := confirm(screen, fmt.Sprintf("%s %s of %s?", verb, matched, c.Name)); err != nil {
				return err
			}
		}
		if params["items"], err = c.choose(connected, decide.EventAction(verb), params); err != nil {
			return err
		}
		for _, filter := range filters {
			delete(params, filter)
		}
	}
	sum, err := c.changeAll(connected, operation, params, done)
	if err != nil {
		return err
	}
	return printChanged(screen, connected, sum, done)
}

// changeAll changes the events, each once: who repeated the filter instead would meet those again that
// fail again at once.
func (c *jobsAction) changeAll(connected *connection, operation string, params map[string]any, done string) (changedJobs, error) {
	goesOn := func() error { return connected.ctx.Err() } // an error once the command is interrupted
	at, pace := mostAtOnce, goesOn
	if c.Rate != nil {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		at, pace = min(*c.Rate, mostAtOnce), func() error {
			select {
			case <-second.C:
			case <-connected.ctx.Done():
			}
			return goesOn()
		}
	}
	sum := changedJobs{Noop: []leftJob{}}
	err := inPace(params["items"].([]jobRef), at, pace, func(chunk []jobRef) error {
		var part changedJobs
		params["items"] = chunk
		if err := connected.do(operation, params, &part); err != nil {
			return err
		}
		sum.Matched += part.Matched
		sum.Updated += part.Updated
		sum.Noop = append(sum.Noop, part.Noop...)
		return nil
	})
	if err != nil && sum.Updated > 0 {
		fmt.Fprintf(connected.screen.Err, "%s: %s so far\n", done, term.Plural(sum.Updated, "event"))
	}
	return sum, err
}

// inPace sends the events in chunks of at most so many, with a pause between each two.
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

// mostAtOnce bounds the events of one request.
const mostAtOnce = 1000

// choose lists the events that the filter fits now, the oldest first.
func (c *jobsAction) choose(connected *connection, action decide.EventAction, params map[string]any) ([]jobRef, error) {
	query := map[string]any{"workflow": c.Name, "limit": mostAtOnce}
	for _, filter := range filters {
		if value, ok := params[filter]; ok && filter != "limit" {
			query[filter] = value
		}
	}
	_, byState := params["state"]
	_, byStatus := params["status"]
	most, limited := params["limit"].(int)
	refs := []jobRef{}
	for {
		var page struct {
			Items []struct {
				jobRef
				State projections.JobState `json:"state"`
			} `json:"items"`
			Next *string `json:"next"`
		}
		if err := connected.do("listWorkflowJobs", query, &page); err != nil {
			return nil, err
		}
		for _, job := range page.Items {
			if !byState && !byStatus && !slices.Contains(ops.AppliesTo[action], job.State) {
				continue
			}
			if limited && len(refs) == most {
				return refs, nil
			}
			refs = append(refs, job.jobRef)
		}
		if page.Next == nil {
			return refs, nil
		}
		query["cursor"] = *page.Next
	}
}

// filters are what --where takes.
var filters = []string{"topic", "state", "status", "q", "limit"}

// jobRef names an event.
type jobRef struct {
	Topic     string `json:"topic"`
	MessageID string `json:"messageId"`
}

// told prints what was changed and what was not; partial success is no error (J4).
func printChanged(screen term.Screen, c *connection, sum changedJobs, done string) error {
	if c.json {
		if err := printValue(screen, sum); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(screen.Out, "%s: %d of %s\n", done, sum.Updated, term.Plural(sum.Matched, "event"))
		const most = 20
		for i, left := range sum.Noop {
			if i == most {
				fmt.Fprintf(screen.Err, "  … and %d more; --json lists all\n", len(sum.Noop)-most)
				break
			}
			fmt.Fprintf(screen.Err, "  not %s/%s: %s\n", left.Topic, term.OneLine(left.MessageID, 80), term.OneLine(left.Reason, 300))
		}
	}
	if sum.Updated == 0 && len(sum.Noop) > 0 {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

// count says how many events would be changed, and changes none.
func (c *jobsAction) count(connected *connection, operation string, params map[string]any) (changedJobs, error) {
	params["dryRun"] = true
	defer delete(params, "dryRun")
	var matched changedJobs
	if err := connected.do(operation, params, &matched); err != nil {
		return matched, err
	}
	screen := connected.screen
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

// String counts what a filter has chosen.
func (j changedJobs) String() string {
	if j.More {
		return "more than " + term.Plural(j.Matched, "event")
	}
	return term.Plural(j.Matched, "event")
}

// params are those of the request: items, or a filter.
func (c *jobsAction) params(verb string) (map[string]any, error) {
	params := map[string]any{"workflow": c.Name}
	if c.Reason != "" {
		params["reason"] = c.Reason
	}
	usage := fmt.Sprintf("pawl %s WORKFLOW TOPIC MESSAGE-ID…, or pawl %s WORKFLOW --where state=STATE,q=TEXT", verb, verb)
	switch {
	case c.Where != "" && c.Topic != "":
		return nil, exit.Misconfigured(usage, "name the events or say --where, not both")
	case c.Where == "" && len(c.MessageID) == 0:
		return nil, exit.Misconfigured(usage, "nothing says which events are meant")
	case c.Where == "":
		items := make([]jobRef, len(c.MessageID))
		for i, id := range c.MessageID {
			items[i] = jobRef{c.Topic, id}
		}
		params["items"] = items
		return params, nil
	}
	last := ""
	for part := range strings.SplitSeq(c.Where, ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok && (key == "topic" || key == "state" || key == "status" || key == "q"):
			if possible := ops.Possible("listJobs", key); possible != nil && !slices.Contains(possible, value) {
				return nil, exit.Misconfigured(usage, "--where: %s is %q; it must be one of %s", key, value, strings.Join(possible, ", "))
			}
			params[key], last = value, key
		case ok && key == "limit":
			limit, err := strconv.Atoi(value)
			if err != nil || limit < 1 {
				return nil, exit.Misconfigured(usage, "--where: limit is %q; it must be a number of 1 or more", value)
			}
			params[key], last = limit, ""
		case last == "q":
			params["q"] = params["q"].(string) + "," + part // a text may hold commas
		default:
			return nil, exit.Misconfigured(usage, "--where: %q is none of topic=, state=, status=, q=, limit=", part)
		}
	}
	return params, nil
}

// confirm asks on standard error and wants a yes from standard input.
func confirm(screen term.Screen, question string) error {
	fmt.Fprintf(screen.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(io.LimitReader(screen.In, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return exit.Failed("", fmt.Errorf("read your answer: %w", err))
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	case "":
		fmt.Fprintln(screen.Err)
	}
	return exit.Failed("to go ahead without being asked: --yes", errors.New("nothing was changed"))
}

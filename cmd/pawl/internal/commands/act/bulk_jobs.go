package act

import (
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// jobsAction changes the jobs of events: those named, or those that a filter chooses.
type jobsAction struct {
	client.Flags
	Name      string    `arg:"" name:"workflow" help:"The workflow."`
	Topic     string    `arg:"" optional:"" help:"The topic; left out with --where."`
	MessageID []string  `arg:"" optional:"" name:"message-id" help:"The events' message ids."`
	Where     whereFlag `placeholder:"state=STATE,q=TEXT" help:"Instead of naming events, those that fit: any of topic=, state=, status=, held=, class= and code= (of the error), q=, since=, until= (when they were published), limit=."`
	Comment   string    `placeholder:"TEXT" aliases:"reason" help:"Why, for the record."`
	Yes       bool      `short:"y" help:"Do not ask before changing what --where chooses."`
	DryRun    bool      `help:"Only say how many would be changed."`
	Rate      *int      `placeholder:"N" help:"Change at most N events per second, so that the work that follows is spread evenly."`

	unknown bool // redrive also events whose effect may then happen twice (O11)
	period  period
}

// maxAtOnce bounds the events of one request.
const maxAtOnce = 1000

// choose lists the events that the filter fits now, the oldest first. It also counts the skipped or cancelled ones
// among them, where the filter names neither state nor status: the person may not expect them.
func (c *jobsAction) choose(connected *client.Connection, action decide.EventAction, params map[string]any) (
	refs []jobRef, skipped int, err error) {
	query := map[string]any{"workflow": c.Name, "limit": maxAtOnce}
	for _, filter := range filters {
		// The list filters by the times of jobs, which may be later than the times at which their events were
		// published: so until is compared here, as are the errors, by which it does not filter.
		if value, ok := params[filter]; ok && !slices.Contains([]string{"limit", "until", "class", "code"}, filter) {
			query[filter] = value
		}
	}
	_, byState := params["state"]
	_, byStatus := params["status"]
	_, byHeld := params["held"]
	class, _ := params["class"].(string)
	code, _ := params["code"].(string)
	most, limited := params["limit"].(int)
	for {
		var page struct {
			Items []struct {
				jobRef
				State       projections.JobState `json:"state"`
				Held        *readmodel.HeldEvent `json:"held"`
				Error       *readmodel.Failure   `json:"error"`
				PublishedAt time.Time            `json:"publishedAt"`
			} `json:"items"`
			Next *string `json:"next"`
		}
		if err := connected.Call("listWorkflowJobs", query, &page); err != nil {
			return nil, 0, err
		}
		for _, job := range page.Items {
			if !action.Meant(byState || byStatus || byHeld, job.State, job.Held.For()) || !c.period.holds(job.PublishedAt) ||
				!(readmodel.Job{Held: job.Held, Error: job.Error}).Failed(eventlog.Class(class), code) {
				continue
			}
			if limited && len(refs) == most {
				return refs, skipped, nil
			}
			refs = append(refs, job.jobRef)
			if job.State == projections.JobCancelled && !byState && !byStatus {
				skipped++
			}
		}
		if page.Next == nil {
			return refs, skipped, nil
		}
		query["cursor"] = *page.Next
	}
}

// filters are the keys that --where takes.
var filters = []string{"topic", "state", "status", "held", "class", "code", "q", "since", "until", "limit"}

// jobRef names an event.
type jobRef struct {
	Topic     string `json:"topic"`
	MessageID string `json:"messageId"`
}

// params are the parameters of the request: items, or a filter.
func (c *jobsAction) params(verb string) (map[string]any, error) {
	params := map[string]any{"workflow": c.Name}
	if c.Comment != "" {
		params["reason"] = c.Comment
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
	var err error
	c.period, err = where(c.Where, "redriveEvents", filters, params, usage)
	return params, err
}

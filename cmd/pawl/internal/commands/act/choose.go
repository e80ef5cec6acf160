package act

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/projections"
)

// choose lists the events that the filter fits now, the oldest first.
func (c *jobsAction) choose(connected *client.Connection, action decide.EventAction, params map[string]any) ([]jobRef,
	error) {
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
		if err := connected.Perform("listWorkflowJobs", query, &page); err != nil {
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
				return nil, exit.Misconfigured(usage, "--where: %s is %q; it must be one of %s", key, value,
					strings.Join(possible, ", "))
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

package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type progressView struct {
	header
	At      eventlog.Instant
	Of      int
	Done    int // processed, cancelled, or discarded again
	States  []stateCount
	Aside   []readmodel.Job // discarded again, or held
	Unknown int             // events that are not known any more
}

type stateCount struct {
	State projections.JobState
	Jobs  int
}

// Percent is how many of the events are done, in percent.
func (v progressView) Percent() int { return v.Done * 100 / max(v.Of, 1) }

// redriveFacts are the facts of a redrive: that of events whose jobs had ended, and that of events that were held.
var redriveFacts = []string{"event.redriven", "event.freed"}

// redrivesSought is how many of the newest transitions that free events are searched for a redrive that was recorded
// just now.
const redrivesSought = 20

// redriven returns the events that a redrive has changed; none for any other transition.
func (t transition) redriven() []eventItem {
	var events []eventItem
	if t.Cause.ID != string(decide.ActionRedrive) {
		return nil
	}
	for _, fact := range t.Events {
		var e eventItem
		if slices.Contains(redriveFacts, fact.Type) && json.Unmarshal(fact.Data, &e) == nil {
			events = append(events, e)
		}
	}
	return events
}

// progressOf returns the address of the page with the progress of a redrive that was recorded just now. The address has
// the redrive's position in the log, so every node can show the page, and the address stays valid.
func (v *visit) progressOf(workflow eventlog.WorkflowName, items []string) (string, error) {
	if positions := v.recorded(); positions != "" {
		if p := v.cfg.Await(v.r.Context(), positions); p != nil {
			return "", p
		}
	}
	part, err := ask[logPart](v, "readLog", map[string]any{"workflow": workflow, "type": strings.Join(redriveFacts, ","),
		"tail": redrivesSought, "limit": redrivesSought, "scan": readAtOnce})
	if err != nil {
		return "", err
	}
	chosen := map[eventItem]bool{}
	for _, item := range items {
		var e eventItem
		if json.Unmarshal([]byte(item), &e) == nil {
			chosen[e] = true
		}
	}
	for _, t := range slices.Backward(part.Items) {
		events := t.redriven()
		if len(events) > 0 && t.Actor.Name == v.caller.Actor.Name &&
			!slices.ContainsFunc(events, func(e eventItem) bool { return !chosen[e] }) {
			return path("workflows", workflow, "redrive") + "?" + url.Values{"at": {v.position(t)}}.Encode(), nil
		}
	}
	return "", rpc.Problemf(http.StatusNotFound, "redrive.unknown", "The redrive is not found in the log.")
}

// position writes the position of a transition in the form of readLog.
func (c *Console) position(t transition) string {
	at := eventlog.Position{Partition: t.Partition, Seq: t.Seq}.String()
	if c.cfg.Generation != "" {
		return c.cfg.Generation + "/" + at
	}
	return at
}

// progress shows how far a redrive has come.
func (c *Console) progress(v *visit) (string, page, error) {
	head, err := v.header("jobs")
	if err != nil {
		return "", page{}, err
	}
	at := v.r.URL.Query().Get("at")
	part, err := ask[logPart](v, "readLog", map[string]any{"workflow": head.Workflow.Name, "from": at, "limit": 1})
	if err != nil {
		return "", page{}, err
	}
	var events []eventItem
	if len(part.Items) == 1 && c.position(part.Items[0]) == at {
		events = part.Items[0].redriven()
	}
	if len(events) == 0 {
		return "", page{}, rpc.Problemf(http.StatusNotFound, "redrive.unknown",
			"No redrive of this workflow stands at the position %q of the log.", clip(80, at)).
			WithHint("Open the jobs of the workflow: they show each of its events.")
	}
	view := progressView{header: head, At: part.Items[0].At, Of: len(events)}
	count := map[projections.JobState]int{}
	for _, e := range events {
		job, err := ask[readmodel.Job](v, "getJob", map[string]any{"workflow": head.Workflow.Name, "topic": e.Topic,
			"messageId": e.MessageID})
		if err != nil {
			view.Unknown++
			continue
		}
		count[job.State]++
		if job.State == projections.JobDiscarded || job.Held != nil {
			view.Aside = append(view.Aside, job)
		}
	}
	for _, state := range []projections.JobState{projections.JobAvailable, projections.JobRunning,
		projections.JobRetryable, projections.JobCompleted, projections.JobCancelled, projections.JobDiscarded} {
		if n := count[state]; n > 0 {
			view.States = append(view.States, stateCount{state, n})
		}
	}
	view.Done = count[projections.JobCompleted] + count[projections.JobCancelled] + count[projections.JobDiscarded]
	return "progress", page{Title: "Redrive in " + string(head.Workflow.Name), Nav: "home", Body: view}, nil
}

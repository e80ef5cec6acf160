package console

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// redrivesKept bounds the redrives whose progress can be shown: the newest.
const redrivesKept = 50

type progressView struct {
	header
	At      eventlog.Instant
	Of      int
	Done    int // processed, or put aside again
	States  []stateCount
	Aside   []readmodel.Job // discarded again, or held
	Unknown int             // events that are not known any more
}

type stateCount struct {
	State projections.JobState
	Jobs  int
}

// Percent is how much of it is over.
func (v progressView) Percent() int { return v.Done * 100 / max(v.Of, 1) }

// remember keeps a redrive that has been carried out, and returns where its progress is shown.
func (c *Console) remember(v *visit, workflow eventlog.WorkflowName, items []string) string {
	r := redrive{id: rand.Text(), browser: v.browser(), workflow: workflow, at: eventlog.At(c.cfg.Now())}
	for _, item := range items {
		var e eventItem
		if json.Unmarshal([]byte(item), &e) == nil {
			r.events = append(r.events, e)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redrives = append(c.redrives, r)
	if len(c.redrives) > redrivesKept {
		c.redrives = slices.Delete(c.redrives, 0, 1)
	}
	return path("workflows", workflow, "redrives", r.id)
}

// progress shows how far a redrive has come.
func (c *Console) progress(v *visit) (string, page, error) {
	head, err := v.header("jobs")
	if err != nil {
		return "", page{}, err
	}
	c.mu.Lock()
	at := slices.IndexFunc(c.redrives, func(r redrive) bool {
		return r.id == v.r.PathValue("redrive") && r.browser == v.browser() && r.workflow == head.Workflow.Name
	})
	var of redrive
	if at >= 0 {
		of = c.redrives[at]
	}
	c.mu.Unlock()
	if at < 0 {
		return "", page{}, rpc.Problemf(http.StatusNotFound, "redrive.unknown",
			"How far this redrive has come as a whole is not known here: it was begun at another node, or before this one "+
				"started again. It goes on; nothing of it is lost.").
			WithHint("Open the jobs of the workflow: they show each of its events.")
	}
	view := progressView{header: head, At: of.at, Of: len(of.events)}
	count := map[projections.JobState]int{}
	for _, e := range of.events {
		job, err := ask[readmodel.Job](v, "getJob", map[string]any{"workflow": of.workflow, "topic": e.Topic,
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
	return "progress", page{Title: "Redrive in " + string(of.workflow), Nav: "home", Body: view}, nil
}

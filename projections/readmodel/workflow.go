package readmodel

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Workflow is a workflow as operators see it.
type Workflow struct {
	Name            eventlog.WorkflowName `json:"name"`
	Version         eventlog.Version      `json:"version"`
	Status          projections.Status    `json:"status"`
	UserPaused      bool                  `json:"userPaused"`
	Blocked         *Block                `json:"blocked"`
	Maintenance     bool                  `json:"maintenance"`
	Repair          *Repair               `json:"repair"`
	PendingRetryRun *eventlog.RunID       `json:"pendingRetryRun"`
	Revision        uint64                `json:"revision"`
	// Concurrency is how many runs of its concurrent consumers may be active beside each other, null without any.
	Concurrency *int `json:"concurrency"`
	// Counts are its jobs by state; those that are over and not put aside are not counted.
	Counts Counts `json:"counts"`
	// Attention is what a person should look at although the workflow does not wait for a person.
	Attention *Attention `json:"attention"`
}

// Counts are numbers of jobs. Those of held events are counted by their state as well.
type Counts struct {
	Available int `json:"available"`
	Running   int `json:"running"`
	Retryable int `json:"retryable"`
	Held      int `json:"held"`
	Discarded int `json:"discarded"`
}

// Attention says why a person should look: Failures transient failures stand in a row (F8), so many probes of a target
// have failed (C7), so many events are held (C5), have failed so often (F8), were discarded (J2), or ended with an
// accepted loss (O11).
type Attention struct {
	Reason   projections.AttentionReason `json:"reason"`
	Since    eventlog.Instant            `json:"since"`
	Failures int                         `json:"failures"`
}

// AttentionView renders what needs attention, nil for nothing.
func AttentionView(w *projections.Workflow) *Attention {
	a := w.Attention()
	if a == nil {
		return nil
	}
	return &Attention{Reason: a.Reason, Since: a.Since, Failures: a.Failures}
}

// Block is the system's hold on a workflow (F7).
type Block struct {
	Reason  eventlog.BlockReason `json:"reason"`
	Message string               `json:"message"`
}

// Repair is a request to repair the script: the Attempt-th logic failure in a row asked for it (F9). Where events of a
// concurrent consumer are held for a repair, Attempt is one more than the repairs that have not helped (C5).
type Repair struct {
	Attempt     int              `json:"attempt"`
	RequestedAt eventlog.Instant `json:"requestedAt"`
}

// Handler is a handler of the workflow's current version.
type Handler struct {
	Name eventlog.Handler     `json:"name"`
	Type eventlog.HandlerType `json:"type"`
	// State is left out when it was never saved: null is a saved value (R13).
	State     json.RawMessage  `json:"state,omitempty"`
	NextRunAt eventlog.Instant `json:"nextRunAt"`
	WakeAt    eventlog.Instant `json:"wakeAt"`
	// Schedule says when a producer runs, such as "every 5m" or "cron 0 9 * * 1-5 Europe/Berlin"; null for a consumer.
	Schedule *string `json:"schedule"`
	// Concurrency, Key and Rate are those of a concurrent consumer, null for any other handler; Held is how many of its
	// events are held.
	Concurrency *int    `json:"concurrency"`
	Key         *string `json:"key"`
	Rate        *string `json:"rate"`
	Held        int     `json:"held"`
	// Probing says that its target is tried with one run at a time (C7); null while it is not.
	Probing *Probing `json:"probing"`
}

// Probing is a consumer's wait for its target: Attempt probes have failed so far, the last with Error's message.
type Probing struct {
	Class   eventlog.Class   `json:"class"`
	Message string           `json:"message"`
	Attempt int              `json:"attempt"`
	Since   eventlog.Instant `json:"since"`
	NextAt  eventlog.Instant `json:"nextAt"`
}

// Version is a version of a workflow's script, without its text.
type Version struct {
	Version    eventlog.Version `json:"version"`
	Filename   string           `json:"filename"`
	SourceHash string           `json:"sourceHash"`
	Repair     bool             `json:"repair"`
	Note       string           `json:"note,omitempty"`
	DeployedAt eventlog.Instant `json:"deployedAt"`
	DeployedBy eventlog.Actor   `json:"deployedBy"`
	// Current is the one that runs.
	Current bool `json:"current"`
}

// WorkflowOf renders the workflow of a state in memory, or of a fold of the past.
func WorkflowOf(s *projections.State) Workflow {
	return WorkflowView(&s.Workflow, s.Definition(), s.Handler)
}

// WorkflowView renders a workflow's core under its definition. Its handlers are looked up where there are concurrent
// consumers.
func WorkflowView(w *projections.Workflow, d *eventlog.Definition,
	handler func(eventlog.Handler) *projections.Handler) Workflow {
	v := Workflow{
		Name: w.Name, Version: w.Version, Status: w.Status(), UserPaused: w.Pause != nil,
		Maintenance: w.Maintenance != nil, PendingRetryRun: optional(w.PendingRetry), Revision: w.Head.Revision,
		Counts: Counts{Available: w.Available(), Running: w.Counts.Running, Retryable: w.Counts.Retryable,
			Held: w.HeldEvents(), Discarded: w.Counts.Discarded},
		Attention: AttentionView(w), Concurrency: beside(d),
	}
	if b := w.Blocked; b != nil {
		v.Blocked = &Block{Reason: b.Reason, Message: b.Message}
	}
	if m := w.Maintenance; m != nil {
		v.Repair = &Repair{Attempt: w.RepairFailures, RequestedAt: m.Since}
	}
	for _, c := range d.Consumers {
		if v.Repair == nil && c.Concurrent() && w.HeldFor(c, eventlog.HeldRepair) > 0 {
			v.Repair = &Repair{Attempt: 1, RequestedAt: w.Counts.HeldSince}
			if h := handler(c.Name); h != nil {
				v.Repair.Attempt += h.RepairFailures
			}
		}
	}
	return v
}

// beside is how many runs of the concurrent consumers may be active beside each other, nil without any.
func beside(d *eventlog.Definition) *int {
	sum := 0
	for _, c := range d.Consumers {
		sum += c.Concurrency
	}
	if sum == 0 {
		return nil
	}
	return &sum
}

// HandlerView renders a handler, also one that comes from memory or from a fold of the past, with what its workflow and
// its definition say of it.
func HandlerView(h *projections.Handler, w *projections.Workflow, d *eventlog.Definition) Handler {
	v := Handler{Name: h.Name, Type: h.Type, State: h.State, NextRunAt: h.NextRunAt, WakeAt: h.WakeAt}
	if p, ok := d.Producer(h.Name); ok {
		v.Schedule = scheduleOf(p)
	}
	c, ok := d.Consumer(h.Name)
	if !ok || !c.Concurrent() {
		return v
	}
	v.Concurrency, v.Key, v.Rate, v.Held = &c.Concurrency, optional(c.Key), optional(c.Rate), w.HeldFor(c)
	if p := h.Probing; p != nil {
		v.Probing = &Probing{Class: p.Class, Message: p.Message, Attempt: p.Attempt, Since: p.Since, NextAt: p.At}
	}
	return v
}

// scheduleOf says when a producer runs, as a script does.
func scheduleOf(p eventlog.Producer) *string {
	said := "cron " + p.Cron
	if p.Timezone != "" {
		said += " " + p.Timezone
	}
	if p.Cron == "" {
		said = "every " + short(time.Duration(p.IntervalMS)*time.Millisecond)
	}
	return &said
}

// short writes a duration without the units that are zero: 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

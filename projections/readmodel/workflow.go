package readmodel

import (
	"context"
	"encoding/json"

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
	// Counts are its jobs by state; those that are over and not put aside are not counted.
	Counts Counts `json:"counts"`
	// Attention is what a person should look at although the workflow does not wait for a person.
	Attention *Attention `json:"attention"`
}

// Counts are numbers of jobs.
type Counts struct {
	Available int `json:"available"`
	Running   int `json:"running"`
	Retryable int `json:"retryable"`
	Held      int `json:"held"`
	Discarded int `json:"discarded"`
}

// Attention says why a person should look: Failures transient failures stand in a row (F8), so many jobs were
// discarded (J2), or so many events ended with an accepted loss (O11).
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

// Repair is a request to repair the script: the Attempt-th logic failure in a row asked for it
// (F9).
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
}

// Script is one deployed version of a workflow's script.
type Script struct {
	Version    eventlog.Version `json:"version"`
	Filename   string           `json:"filename"`
	Source     string           `json:"source"`
	SourceHash string           `json:"sourceHash"`
	Repair     bool             `json:"repair"`
	Note       string           `json:"note,omitempty"`
	DeployedAt eventlog.Instant `json:"deployedAt"`
	DeployedBy eventlog.Actor   `json:"deployedBy"`
	// Definition is what the deploy accepted; it is no part of the JSON.
	Definition eventlog.Definition `json:"-"`
}

// WorkflowView renders a workflow's core, also one that comes from memory or from a fold of the
// past.
func WorkflowView(w *projections.Workflow) Workflow {
	v := Workflow{
		Name: w.Name, Version: w.Version, Status: w.Status(), UserPaused: w.Pause != nil,
		Maintenance: w.Maintenance != nil, PendingRetryRun: optional(w.PendingRetry), Revision: w.Head.Revision,
		Counts: Counts{Available: w.Available(), Running: w.Counts.Running, Retryable: w.Counts.Retryable,
			Discarded: w.Counts.Discarded},
		Attention: AttentionView(w),
	}
	if b := w.Blocked; b != nil {
		v.Blocked = &Block{Reason: b.Reason, Message: b.Message}
	}
	if m := w.Maintenance; m != nil {
		v.Repair = &Repair{Attempt: w.RepairFailures, RequestedAt: m.Since}
	}
	return v
}

// Workflows lists the workflows, Options.Workflow ignored.
func (r *Reader) Workflows(ctx context.Context, o ListOptions) (Page[Workflow], error) {
	o.Workflow, o.Since, o.Until = "", 0, 0
	return list(ctx, r, projections.KindWorkflow, o,
		func(_ *view, name eventlog.WorkflowName, w *projections.Workflow) (row, func() (Workflow, error), error) {
			seen := row{status: string(w.Status()), text: []string{string(name)}}
			if w.Blocked != nil {
				seen.text = append(seen.text, w.Blocked.Message)
			}
			return seen, func() (Workflow, error) { return WorkflowView(w), nil }, nil
		})
}

// Workflow returns one workflow, or *NotFoundError.
func (r *Reader) Workflow(ctx context.Context, w eventlog.WorkflowName) (Workflow, error) {
	return answer(ctx, r, func(v *view) (Workflow, error) {
		core, err := v.workflow(w)
		if err != nil {
			return Workflow{}, err
		}
		return WorkflowView(core), nil
	})
}

// Handlers lists the handlers of the workflow's current version, by name. It is never paged.
func (r *Reader) Handlers(ctx context.Context, w eventlog.WorkflowName) (Page[Handler], error) {
	page := Page[Handler]{Items: []Handler{}}
	return answer(ctx, r, func(v *view) (Page[Handler], error) {
		d, err := v.definition(w)
		if err != nil {
			return page, err
		}
		handlers, err := v.Handlers(w)
		if err != nil {
			return page, err
		}
		for _, h := range handlers {
			_, produces := d.Producer(h.Name)
			_, consumes := d.Consumer(h.Name)
			if produces || consumes {
				page.Items = append(page.Items, HandlerView(h))
			}
		}
		return page, nil
	})
}

// HandlerView renders a handler, also one that comes from memory or from a fold of the past.
func HandlerView(h *projections.Handler) Handler {
	return Handler{Name: h.Name, Type: h.Type, State: h.State, NextRunAt: h.NextRunAt, WakeAt: h.WakeAt}
}

// ScriptView renders a script, also one that comes from memory or from a fold of the past.
func ScriptView(s *projections.Script) Script {
	return Script{
		Version: s.Version, Filename: s.Filename, Source: s.Source, SourceHash: s.SourceHash, Repair: s.Repair,
		Note: s.Note, DeployedAt: s.DeployedAt, DeployedBy: s.DeployedBy, Definition: s.Definition,
	}
}

// Script returns a version of the workflow's script, the current one when the version is empty,
// or *NotFoundError.
func (r *Reader) Script(ctx context.Context, w eventlog.WorkflowName, version eventlog.Version) (Script, error) {
	return answer(ctx, r, func(v *view) (Script, error) {
		if version == "" {
			core, err := v.workflow(w)
			if err != nil {
				return Script{}, err
			}
			version = core.Version
		}
		s, err := one[projections.Script](v, w, projections.ScriptKey(version), "script", string(version))
		if err != nil {
			return Script{}, err
		}
		return ScriptView(s), nil
	})
}

package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

const (
	// gatherFor is how long a transition waits for others of its workflow before the workflow is looked at.
	gatherFor = 200 * time.Millisecond
	// lookEvery is how often all workflows are looked at: some conditions begin without a transition.
	lookEvery = 30 * time.Second
	// naming bounds the search for the oldest discarded event.
	naming = 5 * time.Second
	// kept is how many alerts of one condition of one workflow the stream keeps.
	kept = 5
)

// Run looks at the workflows that have changed, and every 30 seconds at all, until ctx ends. At its beginning the
// issued alerts are read again: another engine may have issued some in the meantime.
func (r *Raiser) Run(ctx context.Context) {
	r.looking.Lock()
	r.stream, r.issued = nil, nil
	r.looking.Unlock()
	all, warned := time.NewTicker(lookEvery), ""
	defer all.Stop()
	look := r.Look
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil && err.Error() != warned {
			warned = err.Error()
			r.cfg.Logger.Warn("alerts cannot be published; this is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-all.C:
			look = r.Look
		case <-r.wake:
			look = r.lookAtChanged
			select {
			case <-time.After(gatherFor):
			case <-ctx.Done():
				return
			}
		}
	}
}

// Look looks at all workflows now. The error says which alerts could not be published; the next look finds them again.
func (r *Raiser) Look(ctx context.Context) error { return r.look(ctx, r.cfg.Workflows()) }

func (r *Raiser) lookAtChanged(ctx context.Context) error {
	r.mu.Lock()
	var names []eventlog.WorkflowName
	for name := range r.changed {
		names = append(names, name)
	}
	clear(r.changed)
	r.mu.Unlock()
	return r.look(ctx, names)
}

func (r *Raiser) look(ctx context.Context, names []eventlog.WorkflowName) error {
	r.looking.Lock()
	defer r.looking.Unlock()
	if err := r.open(ctx); err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		wanted := slices.DeleteFunc(Conditions(), func(c Condition) bool {
			return !slices.ContainsFunc(r.cfg.Wanted, func(w Wanted) bool { return w.holds(name, c) })
		})
		if len(wanted) > 0 {
			failed = errors.Join(failed, r.lookAt(ctx, name, wanted))
		}
	}
	return failed
}

// lookAt looks at one workflow, and publishes what is new.
func (r *Raiser) lookAt(ctx context.Context, name eventlog.WorkflowName, wanted []Condition) error {
	why, err := r.cfg.Why(name)
	if err != nil {
		return fmt.Errorf("explain workflow %s: %w", name, err)
	}
	var state *projections.State
	if s, ok := r.cfg.State(name); ok {
		state = &s
	}
	found := findings(why, state)
	for _, c := range wanted {
		at := subject(r.cfg.Prefix, name, c)
		before := r.issued[at]
		if before == nil {
			before = &issued{}
			r.issued[at] = before
		}
		var f *finding
		if one, holds := found[c]; holds {
			f = &one
		}
		now := r.cfg.Now()
		state := before.next(f, now)
		if state == "" {
			continue
		}
		after := issued{State: state, Reason: before.Reason, Since: before.Since, At: now.UTC(), RaisedAt: before.RaisedAt}
		if f != nil {
			after.Reason, after.Since = f.reason, f.since
		}
		if state == Raised {
			after.RaisedAt = after.At
		}
		about := r.about(ctx, why, after)
		if err := r.publish(ctx, at, Alert{Workflow: name, Condition: c, issued: after, Message: about.Message,
			Commands: about.Commands}, before.seq); err != nil {
			return err
		}
	}
	return nil
}

// about is the explanation, with the part first that the alert is about.
func (r *Raiser) about(ctx context.Context, why explain.Why, after issued) explain.Why {
	part, ok := first[after.Reason]
	if !ok || after.State == Resolved {
		return why
	}
	why = why.First(part)
	if part == explain.PartDiscarded {
		ctx, cancel := context.WithTimeout(ctx, naming)
		defer cancel()
		if err := r.cfg.NameDiscarded(ctx, &why); err != nil {
			r.cfg.Logger.Warn("an alert does not name the oldest discarded event", "workflow", string(why.Workflow),
				"error", err)
		}
	}
	return why
}

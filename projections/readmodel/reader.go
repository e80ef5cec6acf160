package readmodel

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// Reader answers from a store. It is safe for concurrent use.
type Reader struct {
	Store *store.Store
	// Flush brings the store up to what is folded; it is called before every answer. Nil when
	// the store is complete as it is.
	Flush func(context.Context) error
	// Ends names the commands that end what holds an event; nil for none.
	Ends Ends
}

// NotFoundError says that what was asked for does not exist.
type NotFoundError struct {
	// What is "workflow", "run", "event", "job", "mutation", "input", "session" or "script".
	What     string
	Workflow eventlog.WorkflowName // empty when asked for across workflows
	ID       string
}

func (e *NotFoundError) Error() string {
	switch {
	case e.What == "workflow":
		return fmt.Sprintf("there is no workflow %q", e.ID)
	case e.Workflow == "":
		return fmt.Sprintf("there is no %s %q", e.What, e.ID)
	default:
		return fmt.Sprintf("workflow %s has no %s %q", e.Workflow, e.What, e.ID)
	}
}

// view is one answer in the making: a moment of the store, and what was looked up on the way.
type view struct {
	*store.Snapshot
	definitions map[eventlog.WorkflowName]*eventlog.Definition
	ends        Ends
}

// answer runs ask on a moment of the store that is not before the call.
func answer[T any](ctx context.Context, r *Reader, ask func(*view) (T, error)) (T, error) {
	var none T
	if r.Flush != nil {
		if err := r.Flush(ctx); err != nil {
			return none, fmt.Errorf("bring the local store up to date: %w", err)
		}
	}
	snap, err := r.Store.Snapshot()
	if err != nil {
		return none, fmt.Errorf("read the local store: %w", err)
	}
	defer snap.Close()
	return ask(&view{Snapshot: snap, definitions: map[eventlog.WorkflowName]*eventlog.Definition{}, ends: r.Ends})
}

// one reads an entity, and tells an unknown workflow from an unknown entity.
func one[E any](v *view, w eventlog.WorkflowName, k projections.Key, what, id string) (*E, error) {
	rows, err := v.Get(w, []projections.Key{k})
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		return rows[0].(*E), nil
	}
	if k.Kind != projections.KindWorkflow {
		if _, err := v.workflow(w); err != nil {
			return nil, err
		}
	}
	return nil, &NotFoundError{What: what, Workflow: w, ID: id}
}

// optionally reads an entity, nil when there is none.
func optionally[E any](v *view, w eventlog.WorkflowName, k projections.Key) (*E, error) {
	rows, err := v.Get(w, []projections.Key{k})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found, _ := rows[0].(*E)
	return found, nil
}

func (v *view) workflow(w eventlog.WorkflowName) (*projections.Workflow, error) {
	return one[projections.Workflow](v, w, projections.WorkflowKey(), "workflow", string(w))
}

// definition returns the definition of the workflow's current version.
func (v *view) definition(w eventlog.WorkflowName) (*eventlog.Definition, error) {
	if d, ok := v.definitions[w]; ok {
		return d, nil
	}
	core, err := v.workflow(w)
	if err != nil {
		return nil, err
	}
	script, err := one[projections.Script](v, w, projections.ScriptKey(core.Version), "script", string(core.Version))
	if err != nil {
		return nil, err
	}
	v.definitions[w] = &script.Definition
	return &script.Definition, nil
}

// titles reads the titles of events.
func (v *view) titles(w eventlog.WorkflowName, of []eventlog.EventRef) (map[eventlog.EventRef]string, error) {
	titles := make(map[eventlog.EventRef]string, len(of))
	if len(of) == 0 {
		return titles, nil
	}
	keys := make([]projections.Key, len(of))
	for i, e := range of {
		keys[i] = projections.EventKey(e.Topic, e.MessageID)
	}
	rows, err := v.Get(w, keys)
	for _, row := range rows {
		if e, ok := row.(*projections.TopicEvent); ok {
			titles[eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}] = e.Title
		}
	}
	return titles, err
}

// Ends names the commands that end what holds the event of the workflow. The run after which it is held and that run's
// mutation are nil where there is none.
type Ends func(*projections.Workflow, *projections.TopicEvent, *projections.Run, *projections.Mutation) []string

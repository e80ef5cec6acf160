package readmodel

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// workflowView renders a workflow of the store.
func (v *view) workflowView(w *projections.Workflow) (Workflow, error) {
	d, err := v.definition(w.Name)
	var unknown *NotFoundError
	if errors.As(err, &unknown) { // nothing is deployed, or the script is lost
		d = &eventlog.Definition{}
	} else if err != nil {
		return Workflow{}, err
	}
	var handlers []*projections.Handler
	if beside(d) != nil {
		if handlers, err = v.Handlers(w.Name); err != nil {
			return Workflow{}, err
		}
	}
	return WorkflowView(w, d, func(name eventlog.Handler) *projections.Handler {
		for _, h := range handlers {
			if h.Name == name {
				return h
			}
		}
		return nil
	}), nil
}

// Workflows lists the workflows, Options.Workflow ignored.
func (r *Reader) Workflows(ctx context.Context, o ListOptions) (Page[Workflow], error) {
	o.Workflow, o.Since, o.Until = "", 0, 0
	return list(ctx, r, projections.KindWorkflow, o,
		func(v *view, name eventlog.WorkflowName, w *projections.Workflow) (row, func() (Workflow, error), error) {
			seen := row{status: string(w.Status()), text: []string{string(name)}}
			if w.Blocked != nil {
				seen.text = append(seen.text, w.Blocked.Message)
			}
			return seen, func() (Workflow, error) { return v.workflowView(w) }, nil
		})
}

// Workflow returns one workflow, or *NotFoundError.
func (r *Reader) Workflow(ctx context.Context, w eventlog.WorkflowName) (Workflow, error) {
	return answer(ctx, r, func(v *view) (Workflow, error) {
		core, err := v.workflow(w)
		if err != nil {
			return Workflow{}, err
		}
		return v.workflowView(core)
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
		core, err := v.workflow(w)
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
				page.Items = append(page.Items, HandlerView(h, core, d))
			}
		}
		return page, nil
	})
}

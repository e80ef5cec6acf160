package node

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// attention finds the workflows that stand still, and says why.
type attention struct {
	engine *engine.Engine
	reader *readmodel.Reader
	logger *slog.Logger
	now    func() time.Time
}

// list explains the workflows that do not go on by themselves or need attention: those that wait for a person,
// and those that a person has paused.
func (a attention) list(ctx context.Context) (waiting, paused []explain.Why, err error) {
	stopped := a.engine.Stopped()
	tell := func(name eventlog.WorkflowName) {
		why := a.explain(ctx, name, stopped[name])
		switch {
		case why.NeedsPerson:
			waiting = append(waiting, why)
		case why.Reason != nil && *why.Reason == decide.ReasonUserPause:
			paused = append(paused, why)
		}
	}
	for cursor := ""; ; {
		page, err := a.reader.Workflows(ctx, readmodel.ListOptions{Cursor: cursor, Limit: readmodel.MaxLimit})
		if err != nil {
			return nil, nil, fmt.Errorf("list the workflows: %w", err)
		}
		for _, w := range page.Items {
			tell(w.Name)
			delete(stopped, w.Name)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	// The local store does not know a workflow that stopped at its first record.
	for _, name := range slices.Sorted(maps.Keys(stopped)) {
		tell(name)
	}
	return waiting, paused, nil
}

// explain explains one workflow; stopped is why it is out of service, if it is.
func (a attention) explain(ctx context.Context, name eventlog.WorkflowName, stopped error) explain.Why {
	if stopped != nil {
		return explain.Stopped(name, stopped)
	}
	if past := a.engine.Damage().Workflows[name]; past != nil {
		return explain.Damaged(name, past)
	}
	wait, ok := a.engine.Why(name)
	state, exists := a.engine.State(name)
	if !ok || wait == nil || !exists {
		return explain.Why{}
	}
	at := decide.Present{Now: eventlog.At(a.now()), Engine: explain.Stepper(&state),
		MaxHeld: a.engine.Policies().Held.Max}
	why := explain.Workflow(&state, *wait, at, explain.Beside{Outlook: a.engine.Outlook})
	if !why.NeedsPerson {
		return why
	}
	cause, err := explain.Cause(ctx, *a.reader, &state, *wait)
	if err != nil {
		a.logger.Warn("the explanation of a wait says less", "workflow", string(name), "error", err)
	}
	why = explain.Workflow(&state, *wait, at, explain.Beside{Cause: cause, Outlook: a.engine.Outlook})
	if err := why.NameDiscarded(ctx, a.reader); err != nil {
		a.logger.Warn("the explanation of a workflow says less", "workflow", string(name), "error", err)
	}
	return why
}

// caughtUp says how far the work is done. It says that all is done only where nothing stands still or was not deployed.
func caughtUp(waiting, paused, refused int) string {
	var but []string
	switch {
	case waiting == 1:
		but = append(but, "1 workflow that needs a person")
	case waiting > 1:
		but = append(but, fmt.Sprintf("%d workflows that need a person", waiting))
	}
	switch {
	case paused == 1:
		but = append(but, "1 workflow that is paused")
	case paused > 1:
		but = append(but, fmt.Sprintf("%d workflows that are paused", paused))
	}
	switch {
	case refused == 1:
		but = append(but, "1 file that was refused")
	case refused > 1:
		but = append(but, fmt.Sprintf("%d files that were refused", refused))
	}
	if len(but) == 0 {
		return "all caught up: "
	}
	return "caught up but for " + strings.Join(but, " and ") + ": "
}

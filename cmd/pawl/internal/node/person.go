package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// needPerson explains the workflows that do not go on by themselves, and those that need attention.
func (in *Node) needPerson(ctx context.Context) ([]explain.Why, error) {
	reader := readmodel.Reader{Store: in.store, Flush: in.Engine.Flush}
	stopped := in.Engine.Stopped()
	var waiting []explain.Why
	for cursor := ""; ; {
		page, err := reader.Workflows(ctx, readmodel.ListOptions{Cursor: cursor, Limit: readmodel.MaxLimit})
		if err != nil {
			return nil, fmt.Errorf("list the workflows: %w", err)
		}
		for _, w := range page.Items {
			if why, ok := in.needsPerson(ctx, reader, w.Name, stopped[w.Name]); ok {
				waiting = append(waiting, why)
			}
			delete(stopped, w.Name)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	// Of what stopped at its first record the local store knows nothing.
	for _, name := range slices.Sorted(maps.Keys(stopped)) {
		why, _ := in.needsPerson(ctx, reader, name, stopped[name])
		waiting = append(waiting, why)
	}
	return waiting, nil
}

func (in *Node) needsPerson(
	ctx context.Context, reader readmodel.Reader, name eventlog.WorkflowName, stopped error,
) (explain.Why, bool) {
	if stopped != nil {
		return explain.Why{Workflow: name, Message: fmt.Sprintf("Workflow %s is out of service: %v.", name, stopped), Commands: []string{"pawl verify"}}, true
	}
	if past := in.Engine.Damage().Workflows[name]; past != nil {
		return explain.Damaged(name, past), true
	}
	wait, ok := in.Engine.Why(name)
	state, exists := in.Engine.State(name)
	if !ok || wait == nil || !exists {
		return explain.Why{}, false
	}
	// A resume ends the system's hold behind a pause as well: a person must know of it before.
	hidden := wait.Reason == decide.ReasonUserPause && state.Blocked != nil
	if wait.Reason.Meaning() != decide.NeedsPerson && !hidden && state.Attention() == nil {
		return explain.Why{}, false
	}
	cause, err := explain.Cause(ctx, reader, &state, *wait)
	if err != nil {
		in.logger.Warn("the explanation of a wait says less", "workflow", string(name), "error", err)
	}
	return explain.WithCause(&state, *wait, cause), true
}

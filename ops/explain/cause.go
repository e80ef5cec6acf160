package explain

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Cause reads the run that a wait comes from, for [Beside]: nil if it is still in memory, or if there is none. Where
// it cannot be read, the explanation says less. An error is the local store's.
func Cause(
	ctx context.Context, reader readmodel.Reader, state *projections.State, wait decide.Wait,
) (*projections.Run, error) {
	var id eventlog.RunID
	switch {
	case wait.Reason == decide.ReasonMaintenance && state.Maintenance != nil:
		id = state.Maintenance.Run
	case wait.Reason == decide.ReasonBlocked && state.Blocked != nil:
		id = state.Blocked.Run
	case wait.Reason == decide.ReasonBackoff && wait.Subject == "" && state.PendingRetry == "" && LastFailed(state) == nil:
		options := readmodel.ListOptions{Workflow: state.Name, Desc: true, Limit: 1}
		newest, err := reader.Runs(ctx, options)
		if err == nil && len(newest.Items) == 1 {
			id = newest.Items[0].ID
		}
	}
	if id == "" || state.Run(id) != nil {
		return nil, nil
	}
	rows, err := reader.Store.Get(state.Name, []projections.Key{projections.RunKey(id)})
	if err != nil {
		return nil, fmt.Errorf("read run %s, for which workflow %s waits, from the local store: %w", id, state.Name, err)
	}
	for _, row := range rows {
		if run, ok := row.(*projections.Run); ok {
			return run, nil
		}
	}
	return nil, nil
}

// LastFailed is the newest failed run in memory: the run that a backoff comes from, unless that has been evicted.
func LastFailed(s *projections.State) *projections.Run {
	var last *projections.Run
	for _, run := range s.Runs() {
		if run.Failure != nil && (last == nil || last.Created.Before(run.Created)) {
			last = run
		}
	}
	return last
}

package engine

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// Store is where the engine keeps what it may let go of from memory, and how far it has got with the log. It
// is disposable: what it holds follows from the log. All of it is as [store.Store] has it; a simulation breaks
// it on purpose.
type Store interface {
	Checkpoint(partition int) (store.Checkpoint, bool, error)
	Commit(store.Batch) error
	Get(eventlog.WorkflowName, []projections.Key) ([]any, error)
	Load(eventlog.WorkflowName) (projections.State, error)
	Queue(w eventlog.WorkflowName, partition int) (*store.Queue, error)
	Reset() error
	Stops(partition int) ([]store.Stop, error)
	Workflows(partition int) ([]eventlog.WorkflowName, error)
	Failed() <-chan struct{}
	Err() error
}

var _ Store = (*store.Store)(nil)

package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Config of an Engine. Log, Store, Scripts and Connectors are required.
type Config = process.Config

// What a Config has to be given.
type (
	// Connectors is what the engine asks of the outside: the registry, or a simulated world.
	Connectors = process.Connectors
	// Store is where the engine keeps what it may let go of from memory.
	Store = process.Store
	// Peers carry requests between the engines of a cluster.
	Peers = process.Peers
	// DecideFunc is the signature of decide.Decide.
	DecideFunc = process.DecideFunc
)

// How an operation on an Engine ends that the log has not taken.
var (
	// ErrUnavailable says that the engine cannot record anything now; ask again later.
	ErrUnavailable = process.ErrUnavailable
	// ErrNothingRecorded is an ErrUnavailable: the request was never handed to the log, or is known not to be in it.
	ErrNothingRecorded = process.ErrNothingRecorded
	// ErrNoDiskSpace is an ErrNothingRecorded: there is too little disk space.
	ErrNoDiskSpace = process.ErrNoDiskSpace
	// ErrUnknownOutcome is an ErrUnavailable: the caller left before the log had answered.
	ErrUnknownOutcome = process.ErrUnknownOutcome
)

// Engine runs all workflows of a log. Its methods are safe for concurrent use.
type Engine struct {
	process    *process.Process
	partitions []*partition
	ready      chan struct{}
	audit      audit
	advancing  sync.Mutex // one Advance at a time
}

// New checks the configuration and prepares an engine; Run starts it. Errors: a required field that is missing,
// [schedule.PolicyErrors].
func New(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{process: process.New(cfg), ready: make(chan struct{}), audit: audit{hurry: make(chan struct{})}}
	cfg.Connectors.OnLate(e.late)
	for p := range cfg.Log.Partitions() {
		e.partitions = append(e.partitions, newPartition(e, p))
	}
	return e, nil
}

// Ready is closed once every workflow is replayed and running.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Run replays the log and runs the workflows until ctx ends; then it lets active handlers end
// (at most DrainTimeout), waits for what is on its way into the log (at most as long again), for calls that
// have left (until their deadlines) and for their outcomes to be recorded (at most SettleTimeout), writes the
// store and returns nil. It names the calls that it leaves open or unrecorded. It returns an error when the log
// is damaged or full, or the store cannot be written.
func (e *Engine) Run(ctx context.Context) error {
	defer e.process.EndLife()
	defer e.process.Fail(nil)
	defer e.process.Closed.Store(true)
	if err := e.replay(ctx); err != nil {
		return err
	}
	if clock, ok := e.process.Config.Clock.(interface{ Resume(time.Time) }); ok {
		for _, p := range e.partitions {
			clock.Resume(p.lastAt.Time())
		}
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for _, p := range e.partitions {
		p.start(work)
	}
	var fatal error
	if e.process.Config.Leases == nil {
		fatal = e.runAll(ctx, work)
	} else {
		fatal = e.runShare(ctx)
	}
	stop()
	for _, p := range e.partitions {
		p.join()
	}
	e.awaitOutcomes()
	for _, p := range e.partitions {
		err := p.flush()
		if errors.Is(err, store.ErrDamaged) {
			e.process.Log.Error("the local store could not be written at the end; the next start rebuilds it from the log",
				"error", err)
		} else if err != nil && fatal == nil {
			fatal = err
		}
	}
	if e.process.Writable.Err() != nil {
		return context.Cause(e.process.Writable)
	}
	return fatal
}

// runAll owns every partition until ctx ends, or log or store cannot be written. The error is the store's.
func (e *Engine) runAll(ctx, work context.Context) (fatal error) {
	for _, p := range e.partitions {
		p.begin(work, &process.Tenure{})
	}
	close(e.ready)
	select {
	case <-ctx.Done():
		e.drain()
	case <-e.process.Config.Store.Failed():
		e.drain() // the log still takes what is under way
		fatal = e.process.Config.Store.Err()
	case <-e.process.Writable.Done():
	}
	return fatal
}

// runShare follows every partition, and owns those that this engine is given, until ctx ends, or log or store cannot be
// written. It hands over what it owns before it returns. The error is the store's or that of the leases.
func (e *Engine) runShare(ctx context.Context) (fatal error) {
	keeping, endKeeping := context.WithCancel(context.WithoutCancel(ctx))
	kept := make(chan error, 1)
	go func() { kept <- e.process.Config.Leases.Run(keeping) }()
	sharing, endSharing := context.WithCancel(context.WithoutCancel(ctx))
	defer endSharing()
	var shared sync.WaitGroup
	for _, p := range e.partitions {
		shared.Go(func() { p.share(sharing) })
	}
	close(e.ready)
	select {
	case <-ctx.Done():
	case <-e.process.Config.Store.Failed():
		fatal = e.process.Config.Store.Err()
	case <-e.process.Writable.Done():
	case fatal = <-kept:
		kept <- nil
	}
	e.process.Draining.Store(true)
	e.process.Config.Leases.Leave()
	e.nudgeAll()
	endSharing()
	shared.Wait()
	endKeeping()
	if err := <-kept; fatal == nil && !errors.Is(err, context.Canceled) {
		fatal = err
	}
	return fatal
}

func (e *Engine) nudgeAll() {
	for a := range e.workflows() {
		a.nudge()
	}
}

// runners yields the runner of every workflow.
func (e *Engine) runners() iter.Seq[*runner] {
	return func(yield func(*runner) bool) {
		for _, p := range e.partitions {
			for _, r := range p.all() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// workflows yields every workflow, the installation's own log among them.
func (e *Engine) workflows() iter.Seq[*aggregate] {
	return func(yield func(*aggregate) bool) {
		for r := range e.runners() {
			if !yield(r.workflow) {
				return
			}
		}
	}
}

func (e *Engine) workflow(name eventlog.WorkflowName) (*aggregate, bool) {
	return e.partitionOf(name).workflow(name)
}

func (e *Engine) partitionOf(name eventlog.WorkflowName) *partition {
	return e.partitions[e.process.Config.Log.PartitionOf(name)]
}

// DiskSpace reports why no new work may start now (too little disk space); nil when there is enough.
func (e *Engine) DiskSpace() error { return e.process.DiskSpace() }

// late notes the end of a call that was still open after its deadline, and records its outcome (F12).
func (e *Engine) late(call connector.Call, outcome connector.Outcome) {
	r, ok := e.partitionOf(call.Workflow).runner(call.Workflow)
	if !ok {
		return
	}
	r.calls.late(call, outcome)
}

// ProcessedSeq is the sequence up to which everything that the partition's log holds is dealt with: applied, or of
// a workflow that is stopped, or lost. The store's checkpoint follows it with the next write behind.
func (e *Engine) ProcessedSeq(partition int) uint64 {
	p := e.partitions[partition]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress.Next - 1
}

// CheckpointLag is how many messages the partition's log holds that the store's checkpoint does not cover. What
// was accepted as lost at the very end counts as covered. It fails when the log or the store cannot be read.
func (e *Engine) CheckpointLag(ctx context.Context, partition int) (uint64, error) {
	last, err := e.process.Config.Log.Last(ctx, partition)
	if err != nil {
		return 0, fmt.Errorf("find the end of the log: %w", err)
	}
	stored, _, err := e.process.Config.Store.Checkpoint(partition)
	if err != nil {
		return 0, fmt.Errorf("read the store's checkpoint: %w", err)
	}
	p := e.partitions[partition]
	p.mu.Lock()
	defer p.mu.Unlock()
	covered := stored.Seq
	if covered == p.progress.Low.Seq {
		covered = p.progress.Next - 1 // nothing stands between the two
	}
	return last - min(covered, last), nil
}

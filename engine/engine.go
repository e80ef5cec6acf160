package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// Users of an engine write the names below. They are those of package process, where the parts of an engine have them
// from: these must not import the engine.

// Config of an Engine. Log, Store, Scripts and Connectors are required.
type Config = process.Config

// What a Config has to be given.
type (
	// Connectors is what the engine asks of the outside: the registry, or a simulated world.
	Connectors = process.Connectors
	// Store keeps what the engine may remove from memory.
	Store = process.Store
	// Peers carry requests between the engines of a cluster.
	Peers = process.Peers
	// DecideFunc is the signature of decide.Decide.
	DecideFunc = process.DecideFunc
)

// The errors of operations on an Engine, besides refusals (*decide.Refusal).
var (
	// ErrUnavailable says that the engine cannot record anything now; ask again later.
	ErrUnavailable = process.ErrUnavailable
	// ErrNothingRecorded is an ErrUnavailable: the request was never handed to the log, or is known not to be in it.
	ErrNothingRecorded = process.ErrNothingRecorded
	// ErrNoDiskSpace is an ErrNothingRecorded: there is too little disk space.
	ErrNoDiskSpace = process.ErrNoDiskSpace
	// ErrUnknownOutcome is an ErrUnavailable: the caller left before the log had answered.
	ErrUnknownOutcome = process.ErrUnknownOutcome
	// ErrNotRead is an ErrUnavailable: another engine has recorded the request, and this one has not read that yet.
	ErrNotRead = process.ErrNotRead
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

// Lacks is what this engine lacks to begin anything; empty where it lacks nothing. In a cluster it gives its partitions
// to engines that lack nothing, once that has lasted for some seconds, and takes some again when it has lacked nothing
// for a minute.
func (e *Engine) Lacks() lease.Shortage {
	lacks, _ := e.process.Shortage()
	if lacks == "" && slices.ContainsFunc(e.partitions, (*partition).lacksRecords) {
		lacks = lease.LacksRecords
	}
	return lacks
}

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

// Outlook says what can become of a workflow's mutation; zero for one that is not indeterminate.
func (e *Engine) Outlook(name eventlog.WorkflowName, id eventlog.MutationID) Outlook {
	r, ok := e.partitionOf(name).runner(name)
	if !ok {
		return Outlook{}
	}
	return r.calls.outlook(r.workflow.state(), id)
}

// State returns a workflow's live state and whether there is such a workflow.
func (e *Engine) State(name eventlog.WorkflowName) (projections.State, bool) {
	a, ok := e.workflow(name)
	if !ok || !a.state().Exists() || name == eventlog.Installation {
		return projections.State{}, false
	}
	return *a.state(), true
}

// States returns the newest state of each workflow, by name.
func (e *Engine) States() []projections.State {
	var all []projections.State
	for a := range e.workflows() {
		all = append(all, *a.state())
	}
	slices.SortFunc(all, func(a, b projections.State) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Stopped lists workflows that are out of service, with the reason.
func (e *Engine) Stopped() map[eventlog.WorkflowName]error {
	stopped := map[eventlog.WorkflowName]error{}
	for a := range e.workflows() {
		if err := a.stoppedBy(); err != nil {
			stopped[a.name] = err
		}
	}
	return stopped
}

// Why returns what a workflow waits for, of several the first that [decide.Owed] names; nil while it is moving.
func (e *Engine) Why(name eventlog.WorkflowName) (*decide.Wait, bool) {
	if _, ok := e.workflow(name); !ok {
		return nil, false
	}
	if waits := e.Waits(name); len(waits) > 0 {
		return &waits[0], true
	}
	return nil, true
}

// Waits returns all that a workflow waits for, in the order of [decide.Owed]; none while it is moving.
func (e *Engine) Waits(name eventlog.WorkflowName) []decide.Wait {
	p := e.partitionOf(name)
	r, ok := p.runner(name)
	switch {
	case !ok:
		return nil
	case p.tenure() == nil:
		return p.waitsElsewhere(r.workflow.state())
	}
	return slices.Clone(r.resting())
}

// waitsElsewhere is what a workflow waits for while another engine owns its partition, as the workflow's state says;
// none while it is moving there.
func (p *partition) waitsElsewhere(s *projections.State) (waits []decide.Wait) {
	owner, ok := p.process.Config.Leases.Holder(p.number)
	if !ok {
		return []decide.Wait{{Reason: decide.ReasonNoOwner}}
	}
	for _, todo := range decide.Owed(s, decide.Present{
		Now: eventlog.At(p.process.Config.Clock.Now()), Engine: owner.Engine, MaxHeld: p.process.Config.Policies.Held.Max,
	}) {
		switch todo := todo.(type) {
		case decide.Wait:
			waits = append(waits, todo)
		case decide.StartRun, decide.BeginEvent:
			if !p.process.Config.Leases.Nodes()[owner.Node].Lacks.Holds() {
				return nil
			}
			return []decide.Wait{decide.EngineStandstill.Wait()} // no other engine could take it
		default:
			return nil
		}
	}
	return waits
}

// Orphans lists reserved events that no run holds, by workflow (Startup).
func (e *Engine) Orphans() map[eventlog.WorkflowName][]eventlog.EventRef {
	all := map[eventlog.WorkflowName][]eventlog.EventRef{}
	for a := range e.workflows() {
		if refs := decide.Orphans(a.state()); len(refs) > 0 {
			all[a.name] = refs
		}
	}
	return all
}

// Policies returns the numbers that the engine's rules go by.
func (e *Engine) Policies() schedule.Policies { return e.process.Config.Policies }

// available waits until the engine has replayed, and refuses once it has ended.
func (e *Engine) available(ctx context.Context) error {
	select {
	case <-e.ready:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", process.ErrNothingRecorded, ctx.Err())
	}
	if e.process.Closed.Load() {
		return fmt.Errorf("%w: it has stopped", process.ErrNothingRecorded)
	}
	return nil
}

// Flush brings the store to the present, so that what it answers is complete. Errors: ErrUnavailable, or that of
// the store.
func (e *Engine) Flush(ctx context.Context) error {
	if err := e.available(ctx); err != nil && !e.process.Closed.Load() {
		return err
	}
	for _, p := range e.partitions {
		if err := p.flush(); errors.Is(err, store.ErrFailed) {
			return fmt.Errorf("%w: %w", process.ErrUnavailable, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// AwaitPositions returns once this engine has read the log up to these positions, so that what it answers holds them.
// ErrUnavailable: it has not before ctx ended, or there is no such partition.
func (e *Engine) AwaitPositions(ctx context.Context, at ...eventlog.Position) error {
	if err := e.available(ctx); err != nil {
		return err
	}
	for _, position := range at {
		if position.Partition < 0 || position.Partition >= len(e.partitions) {
			return fmt.Errorf("%w: there is no partition %d, there are %d", process.ErrUnavailable, position.Partition,
				len(e.partitions))
		}
		if err := e.partitions[position.Partition].await(ctx, position.Seq); err != nil {
			return fmt.Errorf("%w: this engine has not read the log up to %s: %w", process.ErrUnavailable, position, err)
		}
	}
	return nil
}

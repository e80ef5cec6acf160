package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
)

// Connectors is what the engine asks of the outside: the registry, or a simulated world.
type Connectors interface {
	deploy.Catalog
	Read(ctx context.Context, call connector.Call) (json.RawMessage, error)
	// CheckPinned says why the parameters of a call do not fit the schema that the deploy has pinned, or nil (F14).
	CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure
	// Turn waits until the mutation may be sent, where its target takes only so many calls; nil where nothing bounds them.
	Turn(ctx context.Context, call connector.Call) (connector.Turn, *eventlog.Failure)
	Perform(ctx context.Context, call connector.Call) connector.Outcome
	// Reconciles reports whether Reconcile can settle this very call.
	Reconciles(call connector.Call) bool
	// Resends is for how long after its start, as the operator promises, the other side knows this very call by its
	// key, so that it is sent again to find out what became of it; 0 where that is asked in another way, or not at all.
	Resends(call connector.Call) time.Duration
	Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation
	// Ending says when nothing of this very call can be under way any more.
	Ending(call connector.Call) connector.Ending
	// Host is where this very call goes, empty where it goes to none.
	Host(call connector.Call) string
	// Secrets names the secrets of the configuration that this very call carries.
	Secrets(call connector.Call) []string
	// Timeout bounds this very call; false when the operation is not there now.
	Timeout(call connector.Call) (time.Duration, bool)
	// OnLate sets the function that gets the outcome of each mutation call that was Open at its deadline,
	// once it has ended (F12).
	OnLate(func(connector.Call, connector.Outcome))
}

// Config of an Engine. Log, Store, Scripts and Connectors are required.
//
// An engine of a cluster has a [lease.Keeper] on the bucket of leases (eventlog/jslog/bucket) as Leases, and a
// peer.Peers on its own connection as Peers. Run keeps the leases and gives them back in the end.
type Config struct {
	Log        eventlog.Log
	Store      Store
	Scripts    sandbox.Executor
	Connectors Connectors
	// Leases share the partitions of the log with the other engines of a cluster. Nil: this engine runs all of them, for
	// good. Run runs the keeper too, and the engine has its name.
	Leases *lease.Keeper
	// Peers carry to the owner of a partition what is to be recorded there; required with Leases.
	Peers Peers
	// Duties are what one engine of the cluster does for all of them, such as to publish the feed: the one that owns
	// partition 0. Its context ends with the lease, and Duties must return soon then: the lease is given back after that,
	// and another engine takes it five seconds later at the soonest where it is lost. It is called again with each lease.
	// It needs Leases; an engine that is alone has its duties done around Run.
	Duties func(ctx context.Context)
	// Secrets are the names of the secrets that hooks may verify with.
	Secrets []string
	// Vars are the plain settings that scripts read as ctx.vars.
	Vars sandbox.Vars
	// Clock is clock.System when nil.
	Clock clock.Clock
	// Random feeds ids; crypto/rand when nil. Jitter returns numbers in [0, 1).
	Random io.Reader
	Jitter func() float64
	// Policies default to schedule.Default() when zero.
	Policies schedule.Policies
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
	// Observe is told of every transition this engine records, in order per workflow. It must
	// not block.
	Observe func(eventlog.Record)
	// RunLog takes what one call of the handler has logged. It must not block.
	RunLog func(eventlog.WorkflowName, eventlog.RunID, eventlog.Handler, []sandbox.LogLine)
	// Recordings keeps what prepare and producers of chosen workflows were given, for EffectDiff; nil keeps nothing.
	Recordings *recording.Store
	// DiskSpace reports why no new work may start now (too little disk space); nil when there is enough.
	DiskSpace func() error
	// FlushEvery is how long at most finished work stays in memory before it is written to the
	// store; 0 means a second. Much of it is written sooner.
	FlushEvery time.Duration
	// Window bounds the pending events of a workflow that stay in memory with their payloads; of a
	// longer backlog memory holds the order only. Zero means 1,000 events and 16 MiB.
	Window projections.Window
	// Linger is how long at most a run that was started only to find nothing left waits for an event
	// while many workflows are at work; 0 means not at all. It is real time, whatever the clock. What
	// falls due in the meantime waits as long.
	Linger time.Duration
	// DrainTimeout is how long running handlers may go on once Run's context ends; 0 means 30 s.
	DrainTimeout time.Duration
	// SettleTimeout is how long the log may take for the outcomes of calls once Run's context has ended and
	// the calls are over; 0 means 30 s. The next start reconciles the calls whose outcome is not recorded by then.
	SettleTimeout time.Duration
	// InTurn has the scripts, questions and calls of a workflow's runs go on one after the other, in the order of their
	// starts, so that the same events lead to the same log each time. It is for tests: concurrent runs do not overlap
	// then, and keep only the order that C1 promises.
	InTurn bool
	// MaxGroup is how many transitions of a workflow are written together at most (C10); 0 means as many as the log takes.
	MaxGroup int
	// Decide is decide.Decide when nil. A simulation breaks its rules on purpose, to show that it
	// would notice.
	Decide DecideFunc
}

// Peers carry requests between the engines of a cluster: see package peer.
type Peers interface {
	// Ask sends a request to the engine that answers for the partition since that epoch, with 0 to any that answers for
	// it, and returns its answer. [peer.ErrNobody]: none has received it. After any other error but eventlog.ErrTooLarge
	// it may have been carried out.
	Ask(ctx context.Context, partition int, epoch uint64, request []byte) ([]byte, error)
	// Answer has requests for the partition answered by the owner of this epoch, each in a goroutine of its own, until
	// stop is called. What has arrived by then is answered too, unless ctx ends.
	Answer(ctx context.Context, partition int, epoch uint64,
		answer func(ctx context.Context, request []byte) []byte) (stop func(), err error)
}

// DecideFunc is the signature of decide.Decide.
type DecideFunc func(*projections.State, eventlog.WorkflowName, decide.Env, decide.Command) (decide.Decision, error)

func (c *Config) Validate() error {
	switch {
	case c.Log == nil, c.Store == nil, c.Scripts == nil, c.Connectors == nil:
		return errors.New("engine: Log, Store, Scripts and Connectors are required")
	case c.Leases != nil && c.Peers == nil:
		return errors.New("engine: Leases need Peers")
	case c.Duties != nil && c.Leases == nil:
		return errors.New("engine: Duties need Leases")
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Policies == (schedule.Policies{}) {
		c.Policies = schedule.Default()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.FlushEvery == 0 {
		c.FlushEvery = time.Second
	}
	if c.Window == (projections.Window{}) {
		c.Window = projections.Window{Events: 1000, Bytes: 16 << 20}
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	if c.SettleTimeout == 0 {
		c.SettleTimeout = 30 * time.Second
	}
	if group, ok := c.Log.(eventlog.GroupLog); ok && c.MaxGroup == 0 {
		c.MaxGroup = group.MaxGroup()
	}
	if c.Decide == nil {
		c.Decide = decide.Decide
	}
	return c.Policies.Validate()
}

// Store keeps what the engine may remove from memory, and how far it has got with the log. It is disposable: what it
// holds follows from the log. All of it is as [store.Store] has it; a simulation breaks it on purpose.
type Store interface {
	Checkpoint(partition int) (store.Checkpoint, bool, error)
	Commit(store.Batch) error
	Forget(partition int) error
	Get(eventlog.WorkflowName, []projections.Key) ([]any, error)
	Load(eventlog.WorkflowName) (*projections.State, error)
	Queue(w eventlog.WorkflowName, partition int) (*store.Queue, error)
	Reset() error
	Stops(partition int) ([]store.Stop, error)
	Workflows(partition int) ([]eventlog.WorkflowName, error)
	Failed() <-chan struct{}
	Err() error
}

var _ Store = (*store.Store)(nil)

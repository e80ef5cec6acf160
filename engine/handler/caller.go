package handler

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// Config is what the callers of an engine share. Vars, RunLog and Recordings may be nil.
type Config struct {
	Scripts    sandbox.Executor
	Connectors Connectors
	// Clock gives the time that scripts see, Jitter the seeds of their random numbers, in [0, 1).
	Clock    clock.Clock
	Jitter   func() float64
	Policies schedule.Policies
	// Vars are the plain settings that scripts read as ctx.vars.
	Vars sandbox.Vars
	// RunLog takes what one call of the handler has logged. It must not block.
	RunLog func(eventlog.WorkflowName, eventlog.RunID, eventlog.Handler, []sandbox.LogLine)
	// Recordings keeps what prepare and producers were given; nil keeps nothing.
	Recordings *recording.Store
	// DiskSpace reports why no mutation may start now (too little free space), nil when there is enough.
	DiskSpace func() error
}

// Connectors is what handler calls ask of the outside.
type Connectors interface {
	deploy.Catalog
	Read(ctx context.Context, call connector.Call) (json.RawMessage, error)
	// CheckPinned says why the parameters of a call do not fit the schema that the deploy has pinned, or nil (F14).
	CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure
	// Reconciles reports whether this very call can be asked about.
	Reconciles(call connector.Call) bool
	// Resends is for how long this very call may be sent again to find out what became of it; 0 for not at all.
	Resends(call connector.Call) time.Duration
	// Host is where this very call goes, empty where it goes to none.
	Host(call connector.Call) string
	// Secrets names the secrets of the configuration that this very call carries.
	Secrets(call connector.Call) []string
	// Timeout bounds this very call; false when the operation is not there now.
	Timeout(call connector.Call) (time.Duration, bool)
}

// Workflow is what a call may see of the workflow that it is made for.
type Workflow interface {
	// State is the newest state.
	State() *projections.State
	// Peek gives the events that a consumer may look at now, oldest first, and names the topics of which there are
	// more. It also returns the state that they are of. [ErrPaging] says that the store could not be read.
	Peek(context.Context, *projections.State, eventlog.Consumer, eventlog.Instant, PeekLimit) (
		seen *projections.State, pending map[string][]sandbox.Event, more []string, err error)
	// After gives those of the topic's pending events that are visible and stand behind the event with the id, oldest
	// first; there may be fewer than the limit although more follow. It fails by logic where there is no such event.
	After(context.Context, eventlog.Topic, eventlog.MessageID, eventlog.Instant, PeekLimit) ([]sandbox.Event, error)
	// Events gives events of a topic whatever their status, none older than the newest state at the time of the call.
	// Those that do not exist are left out.
	Events(topic eventlog.Topic, ids []string) ([]*projections.TopicEvent, error)
}

// PeekLimit is how far prepare sees: the oldest events of each topic, at most so many and, but for
// the first, so many bytes.
type PeekLimit struct{ Events, Bytes int }

// Most scripts look at a few events. Every call is given what these see; a script that
// looks further is called again, and from then on gets all it may see at once.
var (
	firstPeek = PeekLimit{Events: 100, Bytes: 64 << 10}
	fullPeek  = PeekLimit{Events: 1000, Bytes: 4 << 20}
)

// ErrPaging says that pending events could not be read from the store: no fault of the script.
var ErrPaging = errors.New("pending events cannot be read from the local store")

// Caller calls the handlers of one workflow. Runs of one event (C1) may be called at the same time as each other and as
// one other run.
type Caller struct {
	cfg      *Config
	name     eventlog.WorkflowName
	workflow Workflow
	// fullPeeks are the consumers whose prepare has looked beyond firstPeek.
	fullPeeks map[eventlog.Handler]bool
}

// New makes the caller of a workflow's handlers.
func New(cfg *Config, name eventlog.WorkflowName, w Workflow) *Caller {
	return &Caller{cfg: cfg, name: name, workflow: w, fullPeeks: map[eventlog.Handler]bool{}}
}

func (c *Caller) now() eventlog.Instant { return eventlog.At(c.cfg.Clock.Now()) }

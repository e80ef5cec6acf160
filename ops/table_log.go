package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/logread"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// transitionDocument is the form of eventlog.Record's JSON, for its schema.
type transitionDocument struct {
	Partition int                   `json:"partition"`
	Seq       uint64                `json:"seq"`
	ID        eventlog.TransitionID `json:"id"`
	Workflow  eventlog.WorkflowName `json:"workflow"`
	Revision  uint64                `json:"revision"`
	Kind      eventlog.FactType     `json:"kind"`
	At        eventlog.Instant      `json:"at"`
	Actor     eventlog.Actor        `json:"actor"`
	Cause     eventlog.Cause        `json:"cause"`
	Events    []factDocument        `json:"events" jsonschema:"the facts that became true together"`
}

type factDocument struct {
	Type    eventlog.FactType `json:"type"`
	Version int               `json:"version"`
	Data    rpc.RawJSON       `json:"data"`
}

var logTable = []Operation{func() Operation {
	o := operation("readLog", "GET /v1/log", rpc.Viewer,
		"Read the log as server-sent events, one transition each; as application/json, and without follow, "+
			"a page of it").slow()
	o = define(o, func(ctx context.Context, c *Call, q *logread.Query) (*logread.Page, error) {
		return c.backend.pageLog(ctx, c, q)
	})
	o.Streams = true
	o.DescribeAnswer = func(c *rpc.Components) (any, error) {
		transition, err := c.Component("Transition", reflect.TypeFor[transitionDocument](), nil)
		if err != nil {
			return nil, err
		}
		return c.Page("Transition", transition,
			"where the next page begins, as `from` takes it; null at the end of a log that is not followed")
	}
	o.stream = func(w http.ResponseWriter, r *http.Request, c *Call, request any) (bool, error) {
		q := request.(*logread.Query)
		if !q.Follow && accepts(r, "application/json") && !accepts(r, "text/event-stream") {
			return false, nil
		}
		return true, c.backend.readLog(w, r, c, q)
	}
	return o
}()}

func accepts(r *http.Request, media string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), media) {
				return true
			}
		}
	}
	return false
}

// known is an error for a workflow of which the log holds nothing; nil for any other.
func (b *backend) known(w eventlog.WorkflowName) error {
	if _, ok := b.cfg.Engine.State(w); !ok && b.cfg.Engine.Stopped()[w] == nil {
		return &readmodel.NotFoundError{What: "workflow", ID: string(w)}
	}
	return nil
}

func (b *backend) pageLog(ctx context.Context, c *Call, q *logread.Query) (*logread.Page, error) {
	from, err := b.log.Start(ctx, q)
	if err != nil {
		return nil, err
	}
	return b.log.Page(ctx, logread.Waiter{Caller: &c.Caller, Max: c.most, Leave: c.leave}, q, from)
}

// readLog answers with server-sent events.
func (b *backend) readLog(w http.ResponseWriter, r *http.Request, c *Call, q *logread.Query) error {
	if err := b.started(r.Context()); err != nil {
		return err
	}
	from, err := b.log.Start(r.Context(), q)
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		// A reader that reconnects repeats its first request: the position that it has reached comes before `from`.
		if from, err = b.log.Behind(last); err != nil {
			return err
		}
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil // the length of a stream is not known
	}
	leave, p := b.followers.Take(&c.Caller)
	if p != nil {
		return p
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	return b.log.Stream(ctx, w, &c.Caller, q, from)
}

type pastRequest struct {
	inWorkflow
	At uint64 `json:"at" in:"query" jsonschema:"the revision, from 1 to the workflow's present one"`
}

var pastTable = []Operation{
	define(operation("glimpsePast", "GET /v1/workflows/{workflow}/past", rpc.Viewer,
		"Show what a workflow was at a revision, or how far the fold has come that leads there; ask again until it has").
		slow(), glimpsePast),
}

func glimpsePast(ctx context.Context, c *Call, r *pastRequest) (replay.Glimpse, error) {
	now, err := c.backend.state(r.Workflow)
	if err != nil {
		return replay.Glimpse{}, err
	}
	if r.At == 0 || r.At > now.Head.Revision {
		return replay.Glimpse{}, rpc.Problemf(http.StatusNotFound, "revision.unknown",
			"workflow %s has no revision %d; it has revisions 1 to %d", r.Workflow, r.At, now.Head.Revision).
			WithHint("the present is in the workflow itself and in its lists")
	}
	return c.backend.past.At(ctx, r.Workflow, r.At)
}

type stateRequest struct {
	inWorkflow
	At *uint64 `json:"at,omitempty" in:"query" jsonschema:"the revision; the present one when left out"`
}

var stateTable = []Operation{
	define(operation("getState", "GET /v1/workflows/{workflow}/state", rpc.Viewer,
		"Rebuild a workflow's state at a revision from its log").reading(), getState),
}

// errTooLong ends a fold that takes too long, errTooLarge one that takes too much memory.
var (
	errTooLong  = errors.New("the fold takes too long")
	errTooLarge = errors.New("the fold takes too much memory")
)

// errReached ends a fold at the revision that was asked for.
var errReached = errors.New("revision reached")

func getState(ctx context.Context, c *Call, r *stateRequest) (readmodel.StateView, error) {
	now, err := c.backend.state(r.Workflow)
	if err != nil {
		return readmodel.StateView{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.backend.cfg.HistoryTimeout, errTooLong)
	defer cancel()
	state := new(projections.State)
	err = replay.Fold(ctx, c.backend.cfg.Log, r.Workflow, func(next *projections.State, bytes int64) error {
		switch {
		case r.At != nil && next.Head.Revision > *r.At:
			return errReached
		case bytes > c.backend.cfg.HistoryBytes:
			return errTooLarge
		}
		state = next
		return context.Cause(ctx) // a log in memory does not look at the context itself
	})
	if errors.Is(err, errTooLarge) {
		return readmodel.StateView{}, rpc.Problemf(http.StatusServiceUnavailable, "history.large",
			"the state of workflow %s takes too much memory to be rebuilt here: up to revision %d of %d "+
				"it has %d MiB of the log",
			r.Workflow, state.Head.Revision, now.Head.Revision, c.backend.cfg.HistoryBytes>>20).
			WithHint("ask for an earlier revision with at, or read the present from the lists")
	}
	if context.Cause(ctx) == errTooLong && !errors.Is(err, errReached) {
		return readmodel.StateView{}, rpc.Problemf(http.StatusServiceUnavailable, "history.long",
			"the state of workflow %s could not be rebuilt within %s: it had come to revision %d of %d",
			r.Workflow, c.backend.cfg.HistoryTimeout, state.Head.Revision, now.Head.Revision).
			WithHint("ask for an earlier revision with at, or read the present from the lists")
	}
	if err != nil && !errors.Is(err, errReached) {
		return readmodel.StateView{}, err
	}
	// The log holds every revision that the engine has; if it ends earlier, its end is lost.
	if wanted := min(now.Head.Revision, *cmp.Or(r.At, &now.Head.Revision)); state.Head.Revision < wanted {
		return readmodel.StateView{}, fmt.Errorf("%w: workflow %s ends at revision %d there, and has %d", eventlog.ErrDamaged,
			r.Workflow, state.Head.Revision, now.Head.Revision)
	}
	if r.At != nil && (*r.At == 0 || state.Head.Revision != *r.At) {
		return readmodel.StateView{}, rpc.Problemf(http.StatusNotFound, "revision.unknown",
			"workflow %s has no revision %d; it has revisions 1 to %d", r.Workflow, *r.At, now.Head.Revision).
			WithHint("without at, the answer is the present state")
	}
	return readmodel.StateOf(state), nil
}

var verifyTable = []Operation{
	define(operation("verifyLog", "POST /v1/verify", rpc.Viewer,
		"Check the whole log and compare the stored state with a full replay").reading(), verifyLog),
}

func verifyLog(ctx context.Context, c *Call, _ *noRequest) (replay.Verification, error) {
	began := c.backend.cfg.Engine.LastFinding()
	v, err := replay.Verify(ctx, c.backend.cfg.Log, c.backend.cfg.Reader, c.backend.cfg.HistoryBytes)
	if err == nil && (len(v.NotFolded) == 0 || len(v.LogProblems()) > 0) {
		// Where a workflow was not folded, the verification does not prove that an earlier finding about it is wrong.
		c.backend.cfg.Engine.Verified(began, v.LogProblems())
	}
	return v, err
}

package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	stateRequest struct {
		inWorkflow
		At *uint64 `json:"at,omitempty" in:"query" jsonschema:"the revision; the present one when left out"`
	}
	connectorView struct {
		Name       string          `json:"name"`
		Operations []operationView `json:"operations"`
	}
	operationView struct {
		Name       string         `json:"name"`
		Kind       connector.Kind `json:"kind"`
		Summary    string         `json:"summary,omitempty"`
		Reconciles bool           `json:"reconciles" jsonschema:"whether it can be asked what became of a mutation"`
		TimeoutMS  int64          `json:"timeoutMs"`
		Schema     rpc.RawJSON    `json:"schema" jsonschema:"the JSON Schema of its parameters, null when any object will do"`
		Result     rpc.RawJSON    `json:"result" jsonschema:"the JSON Schema of its result, null when nothing is said of it"`
	}
	connectorsAnswer struct {
		readmodel.Page[connectorView]
		Refused []RefusedService `json:"refused" jsonschema:"services that were found on NATS and are not offered to scripts"`
		Users   []ToolUser       `json:"users" jsonschema:"tools that have a user of their own on NATS, so that no other tool gets their requests"`
	}
	diagnosticsAnswer struct {
		OrphanedReservations []orphan              `json:"orphanedReservations" jsonschema:"reserved events that no run holds; there must be none"`
		Log                  logHealth             `json:"log"`
		Stopped              []stopped             `json:"stopped" jsonschema:"workflows that are out of service"`
		Contradictions       []contradiction       `json:"contradictions" jsonschema:"workflows held because a late answer differs from a recorded outcome"`
		Unread               []unread              `json:"unread" jsonschema:"events that wait in a topic to which no consumer of the running version subscribes: nothing processes them"`
		Subscriptions        []subscription.Status `json:"subscriptions" jsonschema:"outgoing webhooks that fail or are parked"`
	}
	// unread are the events of a topic that wait although no consumer subscribes to it.
	unread struct {
		Workflow eventlog.WorkflowName `json:"workflow"`
		Topic    eventlog.Topic        `json:"topic"`
		Events   int                   `json:"events" jsonschema:"how many wait"`
	}
	orphan struct {
		Workflow  eventlog.WorkflowName `json:"workflow"`
		Topic     eventlog.Topic        `json:"topic"`
		MessageID eventlog.MessageID    `json:"messageId"`
	}
	logHealth struct {
		OK       bool     `json:"ok"`
		Checked  bool     `json:"checked" jsonschema:"whether the whole log was read since the engine started"`
		Problems []string `json:"problems"`
	}
	stopped struct {
		Workflow eventlog.WorkflowName `json:"workflow"`
		Reason   string                `json:"reason"`
	}
	contradiction struct {
		Workflow eventlog.WorkflowName `json:"workflow"`
		Message  string                `json:"message"`
	}
)

var insightTable = []Operation{
	define(operation("explainWorkflow", "GET /v1/workflows/{workflow}/why", rpc.Viewer,
		"Explain what a workflow does or waits for"), func(_ context.Context, c *Call, r *inWorkflow) (explain.Why, error) {
		return c.backend.explain(r.Workflow)
	}),
	define(operation("explainAll", "GET /v1/why", rpc.Viewer, "Explain what every workflow does or waits for").narrowing(),
		explainAll),
	define(operation("getState", "GET /v1/workflows/{workflow}/state", rpc.Viewer,
		"Rebuild a workflow's state at a revision from its log").reading(), getState),
	define(operation("listConnectors", "GET /v1/connectors", rpc.Viewer,
		"List connectors with their operations, and the services that are refused").narrowing(), listConnectors),
	define(operation("getDiagnostics", "GET /v1/diagnostics", rpc.Viewer,
		"Show what is wrong with this engine, if anything"), getDiagnostics),
	define(operation("verifyLog", "POST /v1/verify", rpc.Viewer,
		"Check the whole log and compare the stored state with a full replay").reading(), verifyLog),
}

func (b *backend) explain(name eventlog.WorkflowName) (explain.Why, error) {
	if err := b.cfg.Engine.Stopped()[name]; err != nil {
		return explain.Stopped(name, err), nil
	}
	state, err := b.state(name)
	if err != nil {
		return explain.Why{}, err
	}
	if past := b.cfg.Engine.Damage().Workflows[name]; past != nil {
		return explain.Damaged(name, past), nil
	}
	return b.explainState(&state), nil
}

func (b *backend) explainState(state *projections.State) explain.Why {
	var todo decide.Todo
	if wait, ok := b.cfg.Engine.Why(state.Name); ok && wait != nil {
		todo = *wait
	} else {
		// The worker of the workflow works, or was woken a moment ago: the rules say what it does.
		todo = explain.Owed(state, b.present(state))
	}
	why := b.explainTodo(state, todo)
	why.Hooks(b.hooks.Refusing(state))
	if b.cfg.Calls != nil {
		why.Turns(state, b.cfg.Calls.Waiting(state.Name))
	}
	return why
}

// present is what the rules need beside the workflow's state.
func (b *backend) present(state *projections.State) decide.Present {
	return decide.Present{Now: eventlog.At(b.cfg.Now()), Engine: explain.Stepper(state),
		MaxHeld: b.cfg.Engine.Policies().Held.Max}
}

// explainTodo explains what the workflow has to do or waits for, completed with what only its history says.
func (b *backend) explainTodo(state *projections.State, todo decide.Todo) explain.Why {
	if wait, ok := todo.(decide.Wait); ok {
		cause, err := explain.Cause(context.Background(), *b.cfg.Reader, state, wait)
		if err != nil {
			b.cfg.Logger.Warn("the explanation of a wait says less", "workflow", string(state.Name), "error", err)
		}
		return explain.Workflow(state, wait, b.present(state),
			explain.Beside{Cause: cause, Outlook: b.cfg.Engine.Outlook})
	}
	return explain.Workflow(state, todo, b.present(state), explain.Beside{Outlook: b.cfg.Engine.Outlook})
}

func explainAll(ctx context.Context, c *Call, _ *noRequest) (readmodel.Page[explain.Why], error) {
	page := readmodel.Page[explain.Why]{Items: []explain.Why{}}
	stopped, damage := c.backend.cfg.Engine.Stopped(), c.backend.cfg.Engine.Damage()
	for name, err := range c.backend.workflows(ctx) {
		if err != nil {
			return page, err
		}
		if c.Sees(name) != nil {
			continue
		}
		if err := stopped[name]; err != nil {
			page.Items = append(page.Items, explain.Stopped(name, err))
		} else if past := damage.Workflows[name]; past != nil {
			page.Items = append(page.Items, explain.Damaged(name, past))
		} else if state, ok := c.backend.cfg.Engine.State(name); ok {
			page.Items = append(page.Items, c.backend.explainState(&state))
		}
	}
	return page, nil
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
	state := projections.State{}
	err = replay.Fold(ctx, c.backend.cfg.Log, r.Workflow, func(next projections.State, bytes int64) error {
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
	return readmodel.StateOf(&state), nil
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

func listConnectors(ctx context.Context, c *Call, _ *noRequest) (connectorsAnswer, error) {
	page := connectorsAnswer{Page: readmodel.Page[connectorView]{Items: []connectorView{}}, Refused: []RefusedService{},
		Users: []ToolUser{}}
	if refused := c.backend.cfg.Refused; refused != nil {
		// This comes first, since the look for services also finds connectors.
		page.Refused = append(page.Refused, refused(ctx)...)
	}
	if users := c.backend.cfg.Tools; users != nil {
		page.Users = users()
	}
	catalog := c.backend.cfg.Connectors
	for _, name := range catalog.Connectors() {
		page.Items = append(page.Items, connectorOf(catalog, name))
	}
	return page, nil
}

// connectorOf describes a connector with what it offers now.
func connectorOf(catalog deploy.Catalog, name string) connectorView {
	view := connectorView{Name: name, Operations: []operationView{}}
	for _, operation := range catalog.Operations(name) {
		op, ok := catalog.Operation(name, operation)
		if !ok {
			continue // the operation has gone meanwhile
		}
		timeout := op.Timeout
		if timeout == 0 {
			timeout = connector.DefaultTimeout
		}
		view.Operations = append(view.Operations, operationView{
			Name: op.Name, Kind: op.Kind, Summary: op.Summary, Reconciles: op.Reconciles, TimeoutMS: timeout.Milliseconds(),
			Schema: rpc.RawJSON(op.Schema), Result: rpc.RawJSON(op.Result),
		})
	}
	return view
}

// DescribeConnector is what listConnectors answers about a connector, made without an engine; false where there is no
// such connector.
func DescribeConnector(catalog deploy.Catalog, name string) (json.RawMessage, bool) {
	if !slices.Contains(catalog.Connectors(), name) {
		return nil, false
	}
	document, err := rpc.EncodeAnswer(connectorOf(catalog, name))
	return document, err == nil
}

func getDiagnostics(ctx context.Context, c *Call, _ *noRequest) (diagnosticsAnswer, error) {
	s := c.backend
	d := diagnosticsAnswer{
		OrphanedReservations: []orphan{}, Stopped: []stopped{}, Contradictions: []contradiction{}, Unread: []unread{},
		Log: logHealth{Problems: s.logProblems(ctx)}, Subscriptions: s.troubled(),
	}
	d.Log.OK, d.Log.Checked = len(d.Log.Problems) == 0, s.cfg.Engine.Damage().Done
	orphans := s.cfg.Engine.Orphans()
	for _, name := range slices.Sorted(maps.Keys(orphans)) {
		for _, ref := range orphans[name] {
			d.OrphanedReservations = append(d.OrphanedReservations, orphan{name, ref.Topic, ref.MessageID})
		}
	}
	causes := s.cfg.Engine.Stopped()
	for _, name := range slices.Sorted(maps.Keys(causes)) {
		d.Stopped = append(d.Stopped, stopped{name, causes[name].Error()})
	}
	for name, err := range s.workflows(ctx) {
		if err != nil {
			return d, err
		}
		state, ok := s.cfg.Engine.State(name)
		if !ok {
			continue
		}
		if state.Blocked != nil && state.Blocked.Reason == eventlog.BlockContradiction {
			d.Contradictions = append(d.Contradictions, contradiction{name, state.Blocked.Message})
		}
		d.Unread = append(d.Unread, unreadOf(&state)...)
	}
	return d, nil
}

// unreadOf counts the events that wait in topics without a subscriber. An archived workflow processes none.
func unreadOf(s *projections.State) []unread {
	var found []unread
	if s.Status() == projections.StatusArchived {
		return nil
	}
	for _, waiting := range s.Waiting {
		if _, read := s.Definition().Subscriber(waiting.Topic); !read && waiting.Events > 0 {
			found = append(found, unread{s.Name, waiting.Topic, waiting.Events})
		}
	}
	return found
}

// logProblems says what is wrong with the log as a whole.
func (b *backend) logProblems(ctx context.Context) []string {
	damage := b.cfg.Engine.Damage()
	problems := neverNull(damage.Problems)
	if damage.More > 0 {
		problems = append(problems, fmt.Sprintf("and %d more: pawl verify lists all", damage.More))
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p := range b.cfg.Log.Partitions() {
		if _, err := b.cfg.Log.Last(ctx, p); err != nil {
			problems = append(problems, fmt.Sprintf("partition %d does not answer: %v", p, err))
		}
	}
	return problems
}

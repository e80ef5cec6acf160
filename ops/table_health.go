package ops

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections"
)

// plainOperation is an operation outside of the table: it has no parameters, and answers also while the engine starts.
type plainOperation struct {
	rpc.Plain
	// answer is nil for an operation whose answer is no JSON: only HTTP offers it.
	answer func(*backend, context.Context) ([]byte, *rpc.Problem)
}

// describe answers with the OpenAPI document.
func (b *backend) describe(context.Context) ([]byte, *rpc.Problem) {
	document, err := b.openapi()
	if err != nil {
		return nil, b.fault("openapi", err)
	}
	return document, nil
}

// readyTimeout bounds the question to the log.
const readyTimeout = 2 * time.Second

type health struct {
	OK           bool   `json:"ok"`
	Version      string `json:"version"`
	Installation string `json:"installation"`
}

// healthz answers while the process can answer at all.
func (b *backend) healthz(context.Context) ([]byte, *rpc.Problem) {
	body, err := rpc.EncodeAnswer(health{OK: true, Version: b.cfg.Version, Installation: b.cfg.Installation})
	if err != nil {
		return nil, b.fault("health", err)
	}
	return body, nil
}

// lacking says why the engine begins nothing new; nil where it does.
func (b *backend) lacking() *rpc.Problem {
	means := "nothing new starts, and what is pushed is refused"
	if _, shares := b.cfg.Engine.Behind(); shares {
		means = "this node's partitions go to other nodes, and nothing new starts in those that no other one can take"
	}
	if err := b.cfg.Engine.DiskSpace(); err != nil {
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%s: %v", means, err).
			WithHint("work goes on by itself when there is disk space again")
	}
	if !b.cfg.Engine.Lacks().Holds() {
		return nil
	}
	return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%s: the local store cannot be written",
		means).WithHint("the engine's own output says what is wrong with its storage")
}

// readyz answers with success once every workflow is replayed, while the log answers, new work may start and the
// server is not stopping.
func (b *backend) readyz(ctx context.Context) ([]byte, *rpc.Problem) {
	select {
	case <-b.cfg.Engine.Ready():
	default:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "engine.starting",
			"the engine is still reading its log").WithHint("ask again in a moment")
	}
	if b.life.Err() != nil {
		return nil, rpc.Stopping()
	}
	if p := b.lacking(); p != nil {
		return nil, p
	}
	if err := b.cfg.Engine.Outdated(); err != nil {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "format.newer",
			"this node owns no part of the log and follows none: %v", err).WithHint(explain.Hint(hint.Of(hint.Newer)))
	}
	if damage := b.cfg.Engine.Damage(); len(damage.Problems) > 0 {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "log.damaged",
			"the log is damaged; workflows that begin nothing new: %d", len(damage.Workflows)).
			WithHint("GET /v1/diagnostics lists what is damaged; pawl verify says the way out")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p := range b.cfg.Log.Partitions() {
		if _, err := b.cfg.Log.Last(ctx, p); err != nil {
			return nil, rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable",
				"partition %d of the log does not answer", p).WithCause(err).
				WithHint("ask again in a moment; the engine's own output says what is wrong with its storage")
		}
	}
	return b.healthz(ctx)
}

type (
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

var diagnosticsTable = []Operation{
	define(operation("getDiagnostics", "GET /v1/diagnostics", rpc.Viewer,
		"Show what is wrong with this engine, if anything"), getDiagnostics),
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

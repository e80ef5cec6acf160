package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Push brings events in from outside; it answers once they are durable. Known message ids are folded (R11).
// Errors: *decide.Refusal, ErrNoDiskSpace, ErrUnavailable.
func (e *Engine) Push(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName, topic eventlog.Topic,
	items []decide.PushItem) ([]decide.PushResult, error) {
	if err := e.DiskSpace(); err != nil && e.process.Config.Leases == nil {
		return nil, fmt.Errorf("%w: %w", process.ErrNoDiskSpace, err)
	}
	if len(items) == 0 {
		return []decide.PushResult{}, nil
	}
	for i := range items {
		if len(items[i].Payload) > 0 && !json.Valid(items[i].Payload) {
			return nil, &decide.Refusal{
				Kind: decide.Invalid, Code: "event.invalid", Message: fmt.Sprintf("item %d (%s): payload is not JSON", i,
					items[i].MessageID),
				Hint: hint.Of(hint.Payload),
			}
		}
	}
	decision, err := e.operate(ctx, name, decide.Push{Topic: topic, Items: items}, actor, "push")
	return decision.Pushed, err
}

// Operate carries out an operator's command on a workflow (O10). Errors: *decide.Refusal, ErrUnavailable.
func (e *Engine) Operate(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName, cmd decide.Command,
	operation string) error {
	_, err := e.operate(ctx, name, cmd, actor, operation)
	return err
}

// RunNow queues every producer of a workflow, and says which runs now and what the others wait for (S5). Errors:
// those of Operate.
func (e *Engine) RunNow(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	operation string) (*decide.Queued, error) {
	decision, err := e.operate(ctx, name, decide.RunNow{}, actor, operation)
	return decision.Queued, err
}

func (e *Engine) operate(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command, actor eventlog.Actor,
	operation string) (decide.Decision, error) {
	if err := e.available(ctx); err != nil {
		return decide.Decision{}, err
	}
	if e.process.Config.Leases == nil {
		if err := e.admit(ctx, e.partitionOf(name), name, cmd); err != nil {
			return decide.Decision{}, err
		}
	}
	return e.decideOn(ctx, name, cmd, actor, operation)
}

func unknownWorkflow(name eventlog.WorkflowName) *decide.Refusal {
	return &decide.Refusal{Kind: decide.NotFound, Code: "workflow.unknown", Message: fmt.Sprintf("there is no workflow %q",
		name), Hint: hint.Of(hint.Workflows)}
}

func (e *Engine) decideOn(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command, actor eventlog.Actor,
	operation string) (decide.Decision, error) {
	if e.process.Config.Leases == nil {
		return e.decideHere(ctx, name, cmd, actor, operation)
	}
	return e.decideAtOwner(ctx, name, cmd, actor, operation)
}

// decideHere has a command recorded by this engine.
func (e *Engine) decideHere(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command, actor eventlog.Actor,
	operation string) (decide.Decision, error) {
	a := e.partitionOf(name).open(name)
	decision, err := a.record(ctx, cmd, actor, eventlog.Cause{Kind: "api", ID: operation})
	switch {
	case err == nil:
		if slices.ContainsFunc(decision.Facts, endsRun) {
			if r, ok := e.partitionOf(name).runner(name); ok {
				r.stopEnded(a.state())
			}
		}
		noteRecorded(ctx, eventlog.Position{Partition: a.partition, Seq: a.state().Head.Seq})
		return decision, nil
	case errors.Is(err, process.ErrUnavailable):
		return decision, err
	case errors.Is(err, process.ErrStopped):
		return decision, &decide.Refusal{Kind: decide.Conflict, Code: "workflow.stopped",
			Message: fmt.Sprintf("workflow %s is out of service: %v", name, err),
			Hint:    hint.Of(hint.VerifyWorkflow)}
	case errors.Is(err, eventlog.ErrUnconfirmed), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return decision, fmt.Errorf("%w: %w", process.ErrUnavailable, err)
	case errors.Is(err, eventlog.ErrFull), errors.Is(err, eventlog.ErrClosed):
		return decision, fmt.Errorf("%w: %w", process.ErrNothingRecorded, err)
	}
	return decision, err
}

func endsRun(f eventlog.Fact) bool {
	_, ends := f.(*eventlog.RunFailed)
	return ends
}

// Recorded collects the positions of what was recorded for a caller: see WithRecorded.
type Recorded struct {
	mu sync.Mutex
	at map[int]uint64
}

// WithRecorded returns a context under which the positions of what is recorded are noted in the Recorded.
func WithRecorded(ctx context.Context) (context.Context, *Recorded) {
	r := &Recorded{at: map[int]uint64{}}
	return context.WithValue(ctx, recordedKey{}, r), r
}

type recordedKey struct{}

// noteRecorded notes a position, if the caller wants to know it.
func noteRecorded(ctx context.Context, at eventlog.Position) {
	r, ok := ctx.Value(recordedKey{}).(*Recorded)
	if !ok || at.Seq == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[at.Partition] = max(r.at[at.Partition], at.Seq)
}

// Positions are the newest of each partition, in their order.
func (r *Recorded) Positions() []eventlog.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]eventlog.Position, 0, len(r.at))
	for p, seq := range maps.All(r.at) {
		all = append(all, eventlog.Position{Partition: p, Seq: seq})
	}
	slices.SortFunc(all, func(a, b eventlog.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}

// changedAtOnce is how many events one transition of ChangeEvents changes at most.
const changedAtOnce = 500

// ChangeEvents skips, cancels or redrives events, in as many transitions as their number needs
// (J3, J4, O7). Refused events are no error: the answer lists them.
func (e *Engine) ChangeEvents(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	cmd decide.ChangeEvents) (decide.BulkResult, error) {
	sum := decide.BulkResult{Noop: []decide.Noop{}}
	for items := range slices.Chunk(cmd.Items, changedAtOnce) {
		part := cmd
		part.Items = items
		decision, err := e.operate(ctx, name, part, actor, string(cmd.Action))
		switch {
		case errors.Is(err, process.ErrNothingRecorded) && sum.Updated > 0:
			return sum, fmt.Errorf("%w: %d events are changed, the rest is not: %v", process.ErrUnavailable, sum.Updated, err)
		case err != nil:
			return sum, err
		}
		sum.Updated += decision.Bulk.Updated
		sum.AtRunEnd += decision.Bulk.AtRunEnd
		sum.Noop = append(sum.Noop, decision.Bulk.Noop...)
	}
	return sum, nil
}

// CheckUnknown returns the refusal of decide.RefuseUnknown if the redrive may repeat the effect of one of its events
// (O11). It changes nothing. Other errors: those of Operate.
func (e *Engine) CheckUnknown(ctx context.Context, actor eventlog.Actor, name eventlog.WorkflowName,
	redrive decide.ChangeEvents) error {
	n := 0
	var first []eventlog.EventRef
	redrive.Count = true
	for items := range slices.Chunk(redrive.Items, changedAtOnce) {
		redrive.Items = items
		decision, err := e.operate(ctx, name, redrive, actor, "count")
		if err != nil {
			return err
		}
		n += decision.Bulk.Unknown
		first = append(first, decision.Bulk.UnknownFirst...)
	}
	if n > 0 {
		return decide.RefuseUnknown(n, first)
	}
	return nil
}

// TokenHash is what is kept of a token.
func TokenHash(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// CreateToken lets a caller in under a name; it answers once that is durable. Errors: *decide.Refusal,
// ErrUnavailable.
func (e *Engine) CreateToken(ctx context.Context, actor eventlog.Actor, cmd decide.CreateToken) error {
	return e.operateInstallation(ctx, actor, cmd, "createToken")
}

// RevokeToken takes that caller's access away, from the moment at which it returns. It fails as CreateToken does.
func (e *Engine) RevokeToken(ctx context.Context, actor eventlog.Actor, name eventlog.TokenName) error {
	return e.operateInstallation(ctx, actor, decide.RevokeToken{Name: name}, "revokeToken")
}

// OpenLogin lets a browser act for a user; it answers once that is durable. It fails as CreateToken does.
func (e *Engine) OpenLogin(ctx context.Context, actor eventlog.Actor, cmd decide.OpenLogin) error {
	return e.operateInstallation(ctx, actor, cmd, "openLogin")
}

// CloseLogin takes that browser's access away, from the moment at which it returns. It fails as CreateToken does.
func (e *Engine) CloseLogin(ctx context.Context, actor eventlog.Actor, id eventlog.LoginID) error {
	return e.operateInstallation(ctx, actor, decide.CloseLogin{ID: id}, "closeLogin")
}

// ResumeSubscription records that a person has ended the parking of an outgoing webhook; it answers once that is
// durable. It fails as CreateToken does.
func (e *Engine) ResumeSubscription(ctx context.Context, actor eventlog.Actor, cmd decide.ResumeSubscription) error {
	return e.operateInstallation(ctx, actor, cmd, "resumeSubscription")
}

func (e *Engine) operateInstallation(ctx context.Context, actor eventlog.Actor, cmd decide.Command,
	operation string) error {
	if err := e.available(ctx); err != nil {
		return err
	}
	_, err := e.decideOn(ctx, eventlog.Installation, cmd, actor, operation)
	return err
}

// Tokens lists the tokens in use. ErrUnavailable says that they are not known: the log is still being read,
// or what it holds of them cannot be followed.
func (e *Engine) Tokens() ([]projections.Token, error) {
	s, err := e.installation()
	return s.Tokens, err
}

// Token finds the token in use with the hash. It fails as Tokens does.
func (e *Engine) Token(hash string) (projections.Token, bool, error) {
	s, err := e.installation()
	if err != nil {
		return projections.Token{}, false, err
	}
	token, ok := s.TokenOf(hash)
	return token, ok, nil
}

// Logins lists the logins that are open, the oldest first. It fails as Tokens does.
func (e *Engine) Logins() ([]projections.Login, error) {
	s, err := e.installation()
	now := eventlog.At(e.process.Config.Clock.Now())
	return slices.DeleteFunc(slices.Clone(s.Logins), func(l projections.Login) bool { return l.ExpiresAt <= now }), err
}

// Login finds the login whose secret has the hash, unless it has expired. It fails as Tokens does.
func (e *Engine) Login(hash string) (projections.Login, bool, error) {
	s, err := e.installation()
	if err != nil {
		return projections.Login{}, false, err
	}
	login, ok := s.LoginOf(hash, eventlog.At(e.process.Config.Clock.Now()))
	return login, ok, nil
}

// maxTokensBehind is for how long an engine that cannot follow the log goes by the tokens that it knows.
const maxTokensBehind = 10 * time.Second

// installation is the state of the installation, if it is as new as the log.
func (e *Engine) installation() (projections.State, error) {
	select {
	case <-e.ready:
	default:
		return projections.State{}, fmt.Errorf("%w: it still reads its log", process.ErrUnavailable)
	}
	a, ok := e.workflow(eventlog.Installation)
	switch {
	case !ok:
		return projections.State{}, nil
	case a.stoppedBy() != nil:
		return projections.State{}, fmt.Errorf("%w: its tokens cannot be followed in the log: %w", process.ErrUnavailable,
			a.stoppedBy())
	case e.partitionOf(eventlog.Installation).behindBy() > maxTokensBehind:
		return projections.State{}, fmt.Errorf("%w: it cannot follow the tokens that other engines give and take back",
			process.ErrUnavailable)
	case a.behind.Load():
		return projections.State{}, fmt.Errorf("%w: it has not read the newest of its tokens yet", process.ErrUnavailable)
	}
	return *a.state(), nil
}

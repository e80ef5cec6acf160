package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/peer"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// OwnerTimeout is how long a request waits for a partition whose lease moves, and for the answer of its owner.
	OwnerTimeout = 15 * time.Second
	// ownerPause lies between two attempts to find the owner.
	ownerPause = 100 * time.Millisecond
)

// ErrNoOwner is an ErrNothingRecorded: for longer than a request waits no engine has owned the workflow's partition.
var ErrNoOwner = fmt.Errorf("%w: no engine owns the workflow's partition now", process.ErrNothingRecorded)

// ownerRequest is a command on its way to the owner of its workflow's partition.
type ownerRequest struct {
	Workflow  eventlog.WorkflowName
	Actor     eventlog.Actor
	Operation string
	// Format is the one that a log needs for what is to be recorded, as far as the asker knows it. The owner refuses what
	// it does not read itself: it would leave out what it does not know.
	Format  int
	Command string // the name of its type
	Body    []byte
}

// ownerResponse is the owner's answer: one of its errors, or the decision.
type ownerResponse struct {
	// Seq is where the workflow's last transition stands that the decision looked at or made.
	Seq uint64

	Warnings []string
	Pushed   []decide.PushResult
	Bulk     *decide.BulkResult
	Queued   *queued

	Refusal *decide.Refusal
	Failure failureKind
	Message string
}

// queued is what an owner says of a RunNow; the rest follows from the workflow's state.
type queued struct {
	Producers []eventlog.Handler
	Running   eventlog.Handler
}

// failureKind is the kind of an error on its way back.
type failureKind string

const (
	notOwner      failureKind = "notOwner" // nothing is recorded
	unrecorded    failureKind = "nothingRecorded"
	noDiskSpace   failureKind = "noDiskSpace"
	unknownFate   failureKind = "unknown"
	tooLargeEntry failureKind = "tooLarge"
	heldFormat    failureKind = "heldFormat"
	otherFailure  failureKind = "failed"
)

// commands are those that come from outside, by the names of their types.
var commands = func() map[string]reflect.Type {
	byName := map[string]reflect.Type{}
	for _, cmd := range []decide.Command{
		decide.Push{}, decide.RunNow{}, decide.ChangeEvents{}, decide.SkipEvent{}, decide.CancelJob{}, decide.RedriveJob{},
		decide.Pause{}, decide.Resume{}, decide.Archive{}, decide.SetGrants{}, decide.ChangeGrants{},
		decide.Approve{}, decide.Reject{}, decide.Resolve{}, decide.Deploy{}, decide.RepairRefused{},
		decide.CreateToken{}, decide.RevokeToken{}, decide.OpenLogin{}, decide.CloseLogin{},
		decide.ResumeSubscription{},
	} {
		byName[reflect.TypeOf(cmd).Name()] = reflect.TypeOf(cmd)
	}
	return byName
}()

// encode puts a request into bytes. A command that does not come from outside is a defect.
func (q ownerRequest) encode(cmd decide.Command) ([]byte, error) {
	q.Command = reflect.TypeOf(cmd).Name()
	if _, ok := commands[q.Command]; !ok {
		return nil, fmt.Errorf("%w: %T cannot be sent to another engine", process.ErrDefect, cmd)
	}
	var err error
	if q.Body, err = msgpack.Marshal(cmd); err != nil {
		return nil, fmt.Errorf("encode %s for the owner: %w", q.Command, err)
	}
	return msgpack.Marshal(q)
}

// decodeOwnerRequest reads a request and its command.
func decodeOwnerRequest(text []byte) (q ownerRequest, cmd decide.Command, err error) {
	if err := eventlog.Unpack(text, &q); err != nil {
		return q, nil, fmt.Errorf("read a request: %w", err)
	}
	kind, ok := commands[q.Command]
	if !ok {
		return q, nil, fmt.Errorf("read a request: there is no command %q in this version", q.Command)
	}
	into := reflect.New(kind)
	if err := eventlog.Unpack(q.Body, into.Interface()); err != nil {
		return q, nil, fmt.Errorf("read a request of command %s: %w", q.Command, err)
	}
	return q, into.Elem().Interface().(decide.Command), nil
}

// decideAtOwner has a command recorded by the engine that owns the workflow's partition: this one, or a peer. While the
// lease moves it waits, up to OwnerTimeout.
func (e *Engine) decideAtOwner(ctx context.Context, name eventlog.WorkflowName, cmd decide.Command,
	actor eventlog.Actor, operation string) (decide.Decision, error) {
	p := e.partitionOf(name)
	format, err := e.formatOf(ctx, p, name, cmd)
	if err != nil {
		return decide.Decision{}, fmt.Errorf("record on %s: %w", name, err)
	}
	request, err := ownerRequest{Workflow: name, Actor: actor, Operation: operation, Format: format}.encode(cmd)
	if err != nil {
		return decide.Decision{}, err
	}
	for until := time.Now().Add(OwnerTimeout); ; {
		decision, err := e.tryOwner(ctx, p, name, cmd, actor, operation, request)
		if !errors.Is(err, process.ErrNotOwner) && !errors.Is(err, peer.ErrNobody) {
			return decision, err
		}
		if time.Now().After(until) || e.process.Closed.Load() {
			p.refused.Add(1)
			return decide.Decision{}, fmt.Errorf("record on %s: %w", name, ErrNoOwner)
		}
		if clock.Sleep(ctx, ownerPause); ctx.Err() != nil {
			return decide.Decision{}, fmt.Errorf("record on %s: %w: %w", name, process.ErrNothingRecorded, ctx.Err())
		}
	}
}

// formatOf is the format that a log needs for a script, if the log has it: an owner of an older version would record
// the script without what it does not know of, such as that a person has to approve its calls. ErrHeldFormat: the log
// does not have that format.
func (e *Engine) formatOf(ctx context.Context, p *partition, name eventlog.WorkflowName,
	cmd decide.Command) (int, error) {
	deploy, ok := cmd.(decide.Deploy)
	holder, holds := e.process.Config.Log.(eventlog.FormatHolder)
	if !ok || !holds {
		return 0, nil
	}
	f := &eventlog.WorkflowDeployed{Filename: deploy.Filename, Source: deploy.Source, Definition: deploy.Definition}
	entry, err := eventlog.NewEntry(eventlog.Transition{Workflow: name, Kind: f.FactType(), Facts: []eventlog.Fact{f}},
		eventlog.Head{})
	if err != nil {
		return 0, err
	}
	err = holder.Admits(ctx, p.number, entry.Format)
	if err != nil && !errors.Is(err, eventlog.ErrHeldFormat) {
		err = fmt.Errorf("%w: %w", process.ErrNothingRecorded, err)
	}
	return entry.Format, err
}

func (e *Engine) tryOwner(ctx context.Context, p *partition, name eventlog.WorkflowName, cmd decide.Command,
	actor eventlog.Actor, operation string, request []byte) (decide.Decision, error) {
	if p.tenure().Holds() {
		if err := e.admit(ctx, p, name, cmd); err != nil {
			return decide.Decision{}, err
		}
		return e.decideHere(ctx, name, cmd, actor, operation)
	}
	owner, held := e.process.Config.Leases.Holder(p.number)
	if owner.Engine != "" && !held {
		return decide.Decision{}, peer.ErrNobody // its lease is over: it may stand still, and would not answer
	}
	epoch := uint64(0) // any engine is asked
	if owner.AnswersByEpoch {
		epoch = owner.Epoch
	}
	asked, cancel := context.WithTimeout(ctx, OwnerTimeout)
	defer cancel()
	text, err := e.process.Config.Peers.Ask(asked, p.number, epoch, request)
	switch {
	case errors.Is(err, peer.ErrNobody), errors.Is(err, eventlog.ErrTooLarge):
		return decide.Decision{}, err
	case err != nil:
		return decide.Decision{}, fmt.Errorf("record on %s at its owner: %w: %w", name, process.ErrUnknownOutcome, err)
	}
	var r ownerResponse
	if err := eventlog.Unpack(text, &r); err != nil {
		return decide.Decision{}, fmt.Errorf("read the answer of the owner: %w: %w", process.ErrUnknownOutcome, err)
	}
	if err := r.err(); err != nil {
		return decide.Decision{}, err
	}
	return e.learn(ctx, p, name, r), nil
}

// readTimeout is how long a request waits until this engine has read what the owner has recorded for it. The server
// that it reads from may have ended with another node, and this engine notices that only after a longer time.
const readTimeout = 500 * time.Millisecond

// learn takes the owner's answer in, and waits until this engine has read the record that it speaks of, so that the
// next question here finds it. Where that takes too long, the position that is noted says what is not read yet.
func (e *Engine) learn(ctx context.Context, p *partition, name eventlog.WorkflowName, r ownerResponse) decide.Decision {
	noteRecorded(ctx, eventlog.Position{Partition: p.number, Seq: r.Seq})
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_ = p.await(limited, r.Seq) // the answer counts in any case
	decision := decide.Decision{Warnings: r.Warnings, Pushed: r.Pushed, Bulk: r.Bulk}
	if r.Queued != nil {
		s := *p.open(name).state()
		decision.Queued = &decide.Queued{Producers: r.Queued.Producers, Running: r.Queued.Running, State: s,
			First: decide.Next(&s, eventlog.At(e.process.Config.Clock.Now()), e.process.Config.Leases.Owner(p.number).Engine)}
		if _, starts := decision.Queued.First.(decide.StartRun); starts {
			decision.Queued.First = decide.EngineStandstill.Wait() // as the owner has found it
		}
	}
	return decision
}

// admit refuses a command from outside for reasons that its decision does not look at: disk space, and whether there is
// such a workflow.
func (e *Engine) admit(ctx context.Context, p *partition, name eventlog.WorkflowName, cmd decide.Command) error {
	switch cmd.(type) {
	case decide.Deploy, decide.CreateToken, decide.RevokeToken, decide.OpenLogin, decide.CloseLogin,
		decide.ResumeSubscription:
		return nil
	case decide.Push:
		if err := e.DiskSpace(); err != nil {
			return fmt.Errorf("%w: %w", process.ErrNoDiskSpace, err)
		}
		// What is pushed stays in memory until the store has it.
		if err := p.lag.Wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", process.ErrNoDiskSpace, err)
		}
	}
	if a, ok := e.workflow(name); !ok || !a.state().Exists() || name == eventlog.Installation {
		return unknownWorkflow(name)
	}
	return nil
}

// answer answers the requests of peers about the partition, until stop is called. This engine has owned the partition
// since the epoch.
func (p *partition) answer(ctx context.Context, epoch uint64) (stop func(), err error) {
	return p.process.Config.Peers.Answer(ctx, p.number, epoch, func(ctx context.Context, request []byte) []byte {
		text, err := msgpack.Marshal(p.respond(ctx, request))
		if err != nil {
			p.process.Log.Error("the answer to another engine cannot be encoded", "error", err)
			return nil // which is no answer: its caller is told that the outcome is not known
		}
		return text
	})
}

func (p *partition) respond(ctx context.Context, request []byte) ownerResponse {
	q, cmd, err := decodeOwnerRequest(request)
	if err != nil {
		return errorResponse(fmt.Errorf("%w: %w", process.ErrNothingRecorded, err))
	}
	e := p.engine
	if e.process.Config.Log.PartitionOf(q.Workflow) != p.number {
		return errorResponse(fmt.Errorf("%w: workflow %s is in another partition", process.ErrNothingRecorded, q.Workflow))
	}
	if !p.tenure().Holds() {
		return errorResponse(process.ErrNotOwner)
	}
	if q.Format > eventlog.FormatVersion {
		return errorResponse(fmt.Errorf("%w: the owner of the partition reads up to format %d, and this needs %d",
			eventlog.ErrHeldFormat, eventlog.FormatVersion, q.Format))
	}
	if err := e.admit(ctx, p, q.Workflow, cmd); err != nil {
		return errorResponse(err)
	}
	decision, err := e.decideHere(ctx, q.Workflow, cmd, q.Actor, q.Operation)
	if err != nil {
		return errorResponse(err)
	}
	r := ownerResponse{Seq: p.open(q.Workflow).state().Head.Seq, Warnings: decision.Warnings, Pushed: decision.Pushed,
		Bulk: decision.Bulk}
	if decision.Queued != nil {
		r.Queued = &queued{decision.Queued.Producers, decision.Queued.Running}
	}
	return r
}

// failureKinds are the kinds of errors that travel. The owner answers with the first kind whose error it has met, and
// its peer then gets the error told.
var failureKinds = []struct {
	kind      failureKind
	met, told error
}{
	{notOwner, process.ErrNotOwner, process.ErrNotOwner},
	{noDiskSpace, process.ErrNoDiskSpace, process.ErrNoDiskSpace},
	{unrecorded, process.ErrNothingRecorded, process.ErrNothingRecorded},
	{unknownFate, process.ErrUnavailable, process.ErrUnknownOutcome},
	{tooLargeEntry, eventlog.ErrTooLarge, eventlog.ErrTooLarge},
	{heldFormat, eventlog.ErrHeldFormat, eventlog.ErrHeldFormat},
}

// errorResponse is an error on its way to a peer.
func errorResponse(err error) ownerResponse {
	r := ownerResponse{Message: err.Error(), Failure: otherFailure}
	if errors.As(err, &r.Refusal) {
		r.Failure = ""
		return r
	}
	for _, k := range failureKinds {
		if errors.Is(err, k.met) {
			r.Failure = k.kind
			break
		}
	}
	return r
}

// err is the error that the owner has answered with.
func (r ownerResponse) err() error {
	switch {
	case r.Refusal != nil:
		return r.Refusal
	case r.Failure == "":
		return nil
	}
	for _, k := range failureKinds {
		if r.Failure == k.kind {
			return fmt.Errorf("%w: the owner of the partition says: %s", k.told, r.Message)
		}
	}
	return fmt.Errorf("the owner of the partition says: %s", r.Message)
}

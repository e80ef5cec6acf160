package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// produce runs a producer.
func (r *runner) produce(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
	call, bad := r.invocation(s, run, sandbox.Producer)
	if bad != nil {
		return decide.CommitRun{Run: run.ID, Failure: bad}
	}
	call.State = handlerState(s, run)
	out, err := r.host(s, run, call).invoke(ctx, call)
	return commit(run, out, err)
}

// prepare runs prepare, and whatever follows it without touching the outside: next when there is
// nothing to mutate for, mutate when it may not read. That saves a write each, and nothing can
// have been seen between them.
func (r *runner) prepare(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
	done := decide.FinishPrepare{Run: run.ID}
	call, bad := r.invocation(s, run, sandbox.Prepare)
	if bad != nil {
		done.Failure = bad
		return done
	}
	consumer, _ := s.Script(run.Version).Definition.Consumer(run.Handler)
	call.State = handlerState(s, run)
	seen, pending, out, err := r.look(ctx, s, run, consumer, call)
	done.Seen, done.SeenPending = *seen, pending
	if err != nil {
		done.Failure = classify(err)
		return done
	}
	done.Prepared, done.Failure = decide.ParsePrepared(out.Value)
	if done.Failure != nil {
		done.Failure.Line = out.Malformed.Line
		return done
	}
	switch {
	case len(done.Prepared.Reservations) == 0 && consumer.HasNext:
		committed := r.emit(ctx, s, run, done.Prepared.Raw, nothing)
		done.Next = &committed
	case len(done.Prepared.Reservations) > 0 && consumer.HasMutate && !consumer.MutateByID:
		named := r.mutate(ctx, s, run, done.Prepared.Raw)
		done.Mutate = &named
	}
	return done
}

// look calls prepare with the events it may look at. It returns the state that they are of, and which others
// prepare was told of as pending.
func (r *runner) look(ctx context.Context, s *projections.State, run *projections.Run, c eventlog.Consumer, call sandbox.Invocation) (*projections.State, []eventlog.EventRef, sandbox.Result, error) {
	now := eventlog.At(call.Now)
	look := func(most sight) (seen *projections.State, pending []eventlog.EventRef, out sandbox.Result, err error) {
		seen, call.Pending, call.More, err = r.workflow.peekable(ctx, s, c, now, most)
		if err == nil {
			if most == farSight {
				call.More = nil
			}
			h := r.host(s, run, call)
			out, err = h.invoke(ctx, call)
			pending = h.seenPending()
		}
		return seen, pending, out, err
	}
	if !r.farSighted[run.Handler] {
		seen, pending, out, err := look(nearSight)
		if !looksFurther(err) {
			return seen, pending, out, err
		}
		r.farSighted[run.Handler] = true
	}
	return look(farSight)
}

func looksFurther(err error) bool {
	var fault *sandbox.Error
	return errors.As(err, &fault) && fault.Code == sandbox.CodeMore
}

// mutate lets the script name its call. Nothing leaves here.
func (r *runner) mutate(ctx context.Context, s *projections.State, run *projections.Run, prepared json.RawMessage) decide.FinishMutate {
	done := decide.FinishMutate{Run: run.ID}
	call, bad := r.invocation(s, run, sandbox.Mutate)
	if bad != nil {
		done.Failure = bad
		return done
	}
	call.Prepared = prepared
	out, err := r.host(s, run, call).invoke(ctx, call)
	if err != nil {
		done.Failure = classify(err)
	}
	if out.Call == nil {
		return done
	}
	op, ok := s.Script(run.Version).Definition.Operation(out.Call.Connector, out.Call.Operation)
	if !ok || op.Kind != string(sandbox.KindMutate) {
		done.Failure = &eventlog.Failure{Class: eventlog.Logic, Code: "operation.unknown", Message: "mutate calls " + out.Call.Connector + "." + out.Call.Operation + ", which this version's deploy did not pin as a mutation"}
		return done
	}
	if done.Failure != nil { // too large to be kept: in the ledger with a marker in their place (F14)
		done.Call = &eventlog.MutationCall{Connector: op.Connector, Operation: op.Operation, Params: oversized(out.Call.Oversize), TimeoutMS: op.TimeoutMS}
		return done
	}
	if done.Failure = r.engine.changed(op); done.Failure != nil {
		return done
	}
	done.Call = &eventlog.MutationCall{
		Connector: op.Connector, Operation: op.Operation, Params: out.Call.Params, ParamsHash: eventlog.HashOf(out.Call.Params).String(),
		TimeoutMS: op.TimeoutMS,
	}
	if done.Failure = r.engine.pinned.Check(ctx, op, out.Call.Params); done.Failure != nil {
		return done // in the ledger as never sent (F14)
	}
	if err := r.engine.diskSpace(); err != nil {
		// A mutation that starts must also be able to settle.
		return decide.FinishMutate{Run: run.ID, Failure: &eventlog.Failure{Class: eventlog.Transient, Code: "storage.reserve", Message: clip(err.Error())}}
	}
	intent := connector.Call{Workflow: r.workflow.name, Run: run.ID, Connector: op.Connector, Operation: op.Operation, Params: out.Call.Params}
	done.Host = r.engine.cfg.Connectors.Host(intent)
	done.Call.Reconciles = op.Reconciles
	if _, here := r.engine.cfg.Connectors.Operation(op.Connector, op.Operation); here {
		// One that is away cannot say more than its pin, and may be back when the call leaves.
		done.Call.Reconciles = op.Reconciles && r.engine.cfg.Connectors.Reconciles(intent)
	}
	if timeout, ok := r.engine.cfg.Connectors.Timeout(intent); ok {
		done.Call.TimeoutMS = timeout.Milliseconds()
	}
	return done
}

// nothing is next's third argument when no mutation was made.
var nothing = json.RawMessage(`{"status":"none"}`)

// next runs next with what the whole chain sees (R15).
func (r *runner) next(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
	result := nothing
	switch run.Outcome {
	case projections.OutcomeSuccess:
		answer := json.RawMessage("null")
		if m := s.Mutation(run.Mutation); m != nil && len(m.Result) > 0 {
			answer = m.Result
		}
		result = append(append(json.RawMessage(`{"status":"applied","result":`), answer...), '}')
	case projections.OutcomeSkipped:
		result = json.RawMessage(`{"status":"skipped"}`)
	}
	return r.emit(ctx, s, run, run.PrepareResult, result)
}

func (r *runner) emit(ctx context.Context, s *projections.State, run *projections.Run, prepared, result json.RawMessage) decide.CommitRun {
	script := s.Script(run.Version)
	if script != nil {
		if c, ok := script.Definition.Consumer(run.Handler); ok && !c.HasNext {
			return decide.CommitRun{Run: run.ID}
		}
	}
	call, bad := r.invocation(s, run, sandbox.Next)
	if bad != nil {
		return decide.CommitRun{Run: run.ID, Failure: bad}
	}
	call.Prepared, call.MutationResult = prepared, result
	out, err := r.host(s, run, call).invoke(ctx, call)
	return commit(run, out, err)
}

func (r *runner) host(s *projections.State, run *projections.Run, call sandbox.Invocation) *host {
	return &host{workflow: r.workflow, state: s, run: run, phase: call.Phase, origin: call.Now, start: time.Now()}
}

// invoke makes the call, and keeps what was logged and read.
func (h *host) invoke(ctx context.Context, call sandbox.Invocation) (sandbox.Result, error) {
	a := h.workflow
	out, err := a.engine.cfg.Scripts.Invoke(ctx, call, h)
	if looksFurther(err) {
		return out, err // it is called again, and says all of it again
	}
	if log := a.engine.cfg.RunLog; log != nil {
		lines := append(h.calls(), out.Logs...)
		if err != nil {
			lines = append(lines, h.inputsOf(call))
		}
		slices.SortStableFunc(lines, func(a, b sandbox.LogLine) int { return a.At.Compare(b.At) })
		if len(lines) > 0 {
			log(a.name, h.run.ID, lines)
		}
	}
	return out, err
}

// The levels of run log lines that the engine writes itself, beside those of the script.
const (
	LevelCall   = "call"   // a connector read: what was asked and answered
	LevelInputs = "inputs" // what a handler that failed was given, as JSON
)

// maxLoggedInputs bounds the inputs kept of a failed handler call.
const maxLoggedInputs = 64 << 10

// inputsOf keeps what a failed handler was given: a repairer needs it, and nothing else does.
func (h *host) inputsOf(call sandbox.Invocation) sandbox.LogLine {
	text, err := json.Marshal(struct {
		Phase          sandbox.Phase              `json:"phase"`
		State          json.RawMessage            `json:"state,omitempty"`
		Prepared       json.RawMessage            `json:"prepared,omitempty"`
		MutationResult json.RawMessage            `json:"mutationResult,omitempty"`
		Pending        map[string][]sandbox.Event `json:"pending,omitempty"`
	}{call.Phase, call.State, call.Prepared, call.MutationResult, call.Pending})
	if err != nil || len(text) > maxLoggedInputs {
		text = fmt.Appendf(nil, `{"phase":%q,"truncated":true,"bytes":%d}`, call.Phase, len(text))
	}
	return sandbox.LogLine{At: h.at(time.Now()), Level: LevelInputs, Text: string(text)}
}

func commit(run *projections.Run, out sandbox.Result, err error) decide.CommitRun {
	done := decide.CommitRun{Run: run.ID}
	if err != nil {
		done.Failure = classify(err)
		return done
	}
	done.State = out.Value
	for _, p := range out.Publishes {
		publish := decide.Publish{MessageID: eventlog.MessageID(p.MessageID), Title: p.Title, Payload: p.Payload, Input: eventlog.InputID(p.InputID)}
		for _, topic := range p.Topics {
			publish.Topics = append(publish.Topics, eventlog.Topic(topic))
		}
		done.Publishes = append(done.Publishes, publish)
	}
	for _, in := range out.Inputs {
		done.Inputs = append(done.Inputs, decide.Input{Source: in.Source, Type: in.Type, ExternalID: in.ExtID, Title: in.Title})
	}
	return done
}

// invocation fills what every phase needs.
func (r *runner) invocation(s *projections.State, run *projections.Run, phase sandbox.Phase) (sandbox.Invocation, *eventlog.Failure) {
	script := s.Script(run.Version)
	if script == nil {
		return sandbox.Invocation{}, &eventlog.Failure{Class: eventlog.Internal, Code: "script.missing", Message: "version " + string(run.Version) + " of the script is not in memory"}
	}
	p := r.engine.cfg.Policies.Script
	call := sandbox.Invocation{
		Workflow: string(r.workflow.name),
		Source:   sandbox.Source{Filename: script.Filename, Code: script.Source}, Phase: phase, Handler: string(run.Handler),
		Now: r.engine.cfg.Clock.Now(), Seed: uint64(r.engine.cfg.Jitter() * (1 << 53)),
		Limits: sandbox.Limits{
			CPU: p.CPU, Wall: p.Wall, Reads: p.Reads, Source: int(p.Source), Argument: int(p.Argument), Result: int(p.Result), State: int(p.State),
			Publish: int(p.Publish), Log: int(p.Log), HostCalls: p.HostCalls, InFlight: p.InFlight, Stack: p.Stack,
		},
	}
	def := &script.Definition
	for _, op := range def.Operations {
		call.Operations = append(call.Operations, sandbox.Operation{Connector: op.Connector, Operation: op.Operation, Kind: sandbox.OperationKind(op.Kind)})
	}
	topics, declared := def.Topics, false
	switch phase {
	case sandbox.Producer:
		producer, _ := def.Producer(run.Handler)
		if declared = producer.PublishesDeclared; declared {
			topics = producer.Publishes
		}
	default:
		consumer, _ := def.Consumer(run.Handler)
		if declared = consumer.PublishesDeclared; declared {
			topics = consumer.Publishes
		}
		call.ReadsByID = consumer.MutateByID
	}
	for _, t := range topics {
		call.Topics = append(call.Topics, string(t))
	}
	return call, nil
}

func handlerState(s *projections.State, run *projections.Run) json.RawMessage {
	if h := s.Handler(run.Handler); h != nil {
		return h.State
	}
	return nil
}

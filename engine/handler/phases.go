package handler

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// Produce runs a producer.
func (c *Caller) Produce(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
	call, bad := c.invocation(s, run, sandbox.Producer)
	if bad != nil {
		return decide.CommitRun{Run: run.ID, Failure: bad}
	}
	call.State = handlerState(s, run)
	if run.ScheduledAt != 0 {
		call.ScheduledAt = run.ScheduledAt.Time()
	}
	out, err := c.host(s, run, call).invoke(ctx, call)
	return commit(run, out, err)
}

// Prepare runs prepare, and whatever follows it without touching the outside: next when there is
// nothing to mutate for, mutate when it may not read. That saves a write each, and nothing can
// have been seen between them.
func (c *Caller) Prepare(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
	done := decide.FinishPrepare{Run: run.ID}
	call, bad := c.invocation(s, run, sandbox.Prepare)
	if bad != nil {
		done.Failure = bad
		return done
	}
	consumer, _ := s.Script(run.Version).Definition.Consumer(run.Handler)
	if run.Event == nil { // a concurrent consumer has no state (C4)
		call.State = handlerState(s, run)
	}
	call.ThenMutate = mutatesWithoutReads(consumer)
	seen, pending, out, err := c.look(ctx, s, run, consumer, call)
	done.Seen, done.SeenPending = seen, pending
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
		committed := c.emit(ctx, s, run, done.Prepared.Raw, nothing)
		done.Next = &committed
	case len(done.Prepared.Reservations) > 0 && mutatesWithoutReads(consumer):
		named := c.mutateAfter(ctx, s, run, call, out)
		done.Mutate = &named
	}
	return done
}

// mutatesWithoutReads reports whether the consumer has a mutate, and one that may not read.
func mutatesWithoutReads(consumer eventlog.Consumer) bool {
	return consumer.HasMutate && !consumer.MutateReadsByID
}

// look calls prepare with the events it may look at. It returns the state that they are of, and which others
// Prepare was told of as pending.
func (c *Caller) look(
	ctx context.Context, s *projections.State, run *projections.Run, consumer eventlog.Consumer, call sandbox.Invocation,
) (*projections.State, []eventlog.EventRef, sandbox.Result, error) {
	if run.Event != nil {
		return c.lookAtOne(ctx, s, run, consumer, call)
	}
	now := eventlog.At(call.Now)
	look := func(most PeekLimit) (seen *projections.State, pending []eventlog.EventRef, out sandbox.Result, err error) {
		seen, call.Pending, call.More, err = c.workflow.Peek(ctx, s, consumer, now, most)
		if err == nil {
			if most == fullPeek {
				call.More = nil
			}
			h := c.host(s, run, call)
			out, err = h.invoke(ctx, call)
			pending = h.seenPending()
		}
		return seen, pending, out, err
	}
	if !c.fullPeeks[run.Handler] {
		seen, pending, out, err := look(firstPeek)
		if !looksFurther(err) {
			return seen, pending, out, err
		}
		c.fullPeeks[run.Handler] = true
	}
	return look(fullPeek)
}

// lookAtOne calls prepare with the one event that the run has reserved, as if it were pending (C1).
func (c *Caller) lookAtOne(
	ctx context.Context, s *projections.State, run *projections.Run, consumer eventlog.Consumer, call sandbox.Invocation,
) (*projections.State, []eventlog.EventRef, sandbox.Result, error) {
	call.Pending = make(map[string][]sandbox.Event, len(consumer.Subscribe))
	for _, topic := range consumer.Subscribe {
		call.Pending[string(topic)] = []sandbox.Event{}
	}
	for _, e := range s.ReservedBy(run) {
		call.Pending[string(e.Topic)] = []sandbox.Event{Shown(e)}
	}
	out, err := c.host(s, run, call).invoke(ctx, call)
	return s, nil, out, err
}

// mutateAfter is Mutate after a call of prepare and its result. The executor may have called mutate already: the result
// of prepare then holds that of mutate.
func (c *Caller) mutateAfter(ctx context.Context, s *projections.State, run *projections.Run, call sandbox.Invocation,
	out sandbox.Result) decide.FinishMutate {
	called := out.Mutate
	if called == nil {
		return c.Mutate(ctx, s, run, out.Value)
	}
	call = call.Mutate()
	call.Prepared, call.Now = out.Value, c.cfg.Clock.Now() // what is logged of its failure comes after its own lines
	var err error
	if called.Failure != nil {
		err = called.Failure
	}
	c.host(s, run, call).keepCall(call, called.Result, err)
	return c.finishMutate(ctx, s, run, called.Result, err)
}

// Mutate lets the script name its call. Nothing leaves here.
func (c *Caller) Mutate(
	ctx context.Context, s *projections.State, run *projections.Run, prepared json.RawMessage,
) decide.FinishMutate {
	call, bad := c.invocation(s, run, sandbox.Mutate)
	if bad != nil {
		return decide.FinishMutate{Run: run.ID, Failure: bad}
	}
	call.Prepared = prepared
	out, err := c.host(s, run, call).invoke(ctx, call)
	return c.finishMutate(ctx, s, run, out, err)
}

// finishMutate makes the report of a mutate from its result or its error: the call that is to be sent, or why none is.
func (c *Caller) finishMutate(
	ctx context.Context, s *projections.State, run *projections.Run, out sandbox.Result, err error,
) decide.FinishMutate {
	done := decide.FinishMutate{Run: run.ID}
	if err != nil {
		done.Failure = classify(err)
	}
	if out.Call == nil {
		return done
	}
	op, ok := s.Script(run.Version).Definition.Operation(out.Call.Connector, out.Call.Operation)
	if !ok || op.Kind != string(sandbox.KindMutate) {
		done.Failure = failed(eventlog.Logic, "operation.unknown",
			"mutate calls "+out.Call.Connector+"."+out.Call.Operation+", which this version's deploy did not pin as a mutation")
		return done
	}
	if done.Failure != nil { // too large to be kept: in the ledger with a marker in their place (F14)
		done.Call = &eventlog.MutationCall{
			Connector: op.Connector, Operation: op.Operation, TimeoutMS: op.TimeoutMS,
			Params: connector.TruncatedResult(int64(out.Call.Oversize)),
		}
		return done
	}
	if done.Failure = deploy.Changed(c.cfg.Connectors, op); done.Failure != nil {
		return done
	}
	done.Asks = out.Call.Ask
	done.Call = &eventlog.MutationCall{
		Connector: op.Connector, Operation: op.Operation, Params: out.Call.Params,
		ParamsHash: eventlog.HashOf(out.Call.Params).String(), TimeoutMS: op.TimeoutMS,
	}
	if done.Failure = c.cfg.Connectors.CheckPinned(ctx, op, out.Call.Params); done.Failure != nil {
		return done // in the ledger as never sent (F14)
	}
	if err := c.cfg.DiskSpace(); err != nil {
		// A mutation that starts must also be able to settle.
		return decide.FinishMutate{Run: run.ID,
			Failure: failed(eventlog.Transient, eventlog.CodeStorageReserve, err.Error())}
	}
	intent := connector.Call{
		Workflow: c.name, Run: run.ID, Connector: op.Connector, Operation: op.Operation, Params: out.Call.Params,
	}
	done.Host, done.Secrets = c.cfg.Connectors.Host(intent), c.cfg.Connectors.Secrets(intent)
	done.Call.Reconciles = op.Reconciles
	if _, here := c.cfg.Connectors.Operation(op.Connector, op.Operation); here {
		// One that is away cannot say more than its pin, and may be back when the call leaves.
		done.Call.Reconciles = op.Reconciles && c.cfg.Connectors.Reconciles(intent)
		if done.Call.Reconciles {
			done.Call.ResendMS = c.cfg.Connectors.Resends(intent).Milliseconds()
		}
	}
	if timeout, ok := c.cfg.Connectors.Timeout(intent); ok {
		done.Call.TimeoutMS = timeout.Milliseconds()
	}
	return done
}

// nothing is next's third argument when no mutation was made.
var nothing = json.RawMessage(`{"status":"none"}`)

// Next runs next with what the whole chain sees (R15).
func (c *Caller) Next(ctx context.Context, s *projections.State, run *projections.Run) decide.Command {
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
	return c.emit(ctx, s, run, run.PrepareResult, result)
}

func (c *Caller) emit(
	ctx context.Context, s *projections.State, run *projections.Run, prepared, result json.RawMessage,
) decide.CommitRun {
	script := s.Script(run.Version)
	if script != nil {
		if consumer, ok := script.Definition.Consumer(run.Handler); ok && !consumer.HasNext {
			return decide.CommitRun{Run: run.ID}
		}
	}
	call, bad := c.invocation(s, run, sandbox.Next)
	if bad != nil {
		return decide.CommitRun{Run: run.ID, Failure: bad}
	}
	call.Prepared, call.MutationResult = prepared, result
	out, err := c.host(s, run, call).invoke(ctx, call)
	return commit(run, out, err)
}

func commit(run *projections.Run, out sandbox.Result, err error) decide.CommitRun {
	done := decide.CommitRun{Run: run.ID}
	if err != nil {
		done.Failure = classify(err)
		return done
	}
	done.State = out.Value
	for _, p := range out.Publishes {
		publish := decide.Publish{
			MessageID: eventlog.MessageID(p.MessageID), Title: p.Title, Payload: p.Payload, Input: eventlog.InputID(p.InputID),
		}
		for _, topic := range p.Topics {
			publish.Topics = append(publish.Topics, eventlog.Topic(topic))
		}
		done.Publishes = append(done.Publishes, publish)
	}
	for _, in := range out.Inputs {
		input := decide.Input{Source: in.Source, Type: in.Type, ExternalID: in.ExtID, Title: in.Title}
		done.Inputs = append(done.Inputs, input)
	}
	return done
}

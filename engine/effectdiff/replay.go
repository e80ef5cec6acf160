package effectdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Script is one of the two that are compared.
type Script struct {
	Source     sandbox.Source
	Definition *eventlog.Definition
}

// Config is what scripts run with.
type Config struct {
	Workflow eventlog.WorkflowName
	Scripts  sandbox.Executor
	Vars     sandbox.Vars
	Limits   sandbox.Limits
	// Answers finds the answer that the call of a run got; nil for a run whose next was told of none. Where
	// Answers is nil, no answer is known. It is called by several goroutines.
	Answers func(context.Context, eventlog.RunID) (*Answer, error)
}

// Answer is what next of a run was told of the call.
type Answer struct {
	Operation string          `json:"-"` // `connector.operation`
	Status    string          `json:"status"`
	Result    json.RawMessage `json:"result,omitempty"`
}

// outcome is what one script does in one run.
type outcome struct {
	call *Call
	// reserved and cancelled are the events that prepare chooses, ids by topic.
	reserved, cancelled chosen
	// prepared is what prepare returned.
	prepared json.RawMessage
	// left is what a producer or next leaves behind.
	left  left
	fault *sandbox.Error
	// lacks names what was not recorded.
	lacks string
}

// left is what a producer or next leaves behind: what it publishes, registers and returns.
type left struct {
	published, inputs, state json.RawMessage
}

// leftBy is what a call has left, nil for nothing.
func leftBy(out sandbox.Result) (l left, err error) {
	if l.state = out.Value; len(out.Publishes) > 0 {
		if l.published, err = json.Marshal(out.Publishes); err != nil {
			return l, fmt.Errorf("compare what is published: %w", err)
		}
	}
	if len(out.Inputs) > 0 {
		if l.inputs, err = json.Marshal(out.Inputs); err != nil {
			return l, fmt.Errorf("compare what is registered: %w", err)
		}
	}
	return l, nil
}

// chosen are events: their ids by topic, in the order in which prepare names them.
type chosen map[eventlog.Topic][]eventlog.MessageID

func (c *chosen) add(topic eventlog.Topic, id eventlog.MessageID) {
	if *c == nil {
		*c = chosen{}
	}
	(*c)[topic] = append((*c)[topic], id)
}

// replay runs a producer, or prepare, and mutate where prepare has chosen something.
func replay(ctx context.Context, cfg Config, script Script, r *recording.Recording) (outcome, error) {
	if r.Phase == sandbox.Producer {
		return poll(ctx, cfg, script, r)
	}
	consumer, ok := script.Definition.Consumer(r.Handler)
	if !ok {
		return outcome{}, nil // it does nothing with these events
	}
	call, lacks := prepareOf(cfg, script, &consumer, r)
	if lacks != "" {
		return outcome{lacks: lacks}, nil
	}
	host := &host{reads: r.Reads}
	out, done, err := invoke(ctx, cfg, call, host)
	if err != nil || done.fault != nil || done.lacks != "" {
		return done, err
	}
	prepared, bad := decide.ParsePrepared(out.Value)
	if bad != nil {
		return outcome{fault: sandbox.ScriptFault(bad.Code, "%s", bad.Message)}, nil
	}
	does := outcome{prepared: prepared.Raw}
	for _, ref := range prepared.Reservations {
		does.reserved.add(ref.Topic, ref.MessageID)
	}
	for _, drop := range prepared.Cancel {
		does.cancelled.add(drop.Topic, drop.MessageID)
	}
	if len(prepared.Reservations) == 0 || !consumer.HasMutate {
		return does, nil
	}
	if consumer.MutateReadsByID {
		return outcome{lacks: "mutate reads, and its reads are not recorded"}, nil
	}
	call.Phase, call.Prepared, call.Pending, call.More, call.State = sandbox.Mutate, prepared.Raw, nil, nil, nil
	out, done, err = invoke(ctx, cfg, call, host)
	if err != nil || done.fault != nil || done.lacks != "" {
		return done, err
	}
	if out.Call != nil {
		does.call = &Call{Operation: out.Call.Connector + "." + out.Call.Operation, Params: out.Call.Params,
			Title: prepared.UITitle, Asks: out.Call.Ask}
	}
	return does, nil
}

// poll runs a producer.
func poll(ctx context.Context, cfg Config, script Script, r *recording.Recording) (outcome, error) {
	producer, ok := script.Definition.Producer(r.Handler)
	if !ok {
		return outcome{}, nil // it publishes nothing
	}
	call := callOf(cfg, script, sandbox.Producer, r)
	call.State, call.ScheduledAt = r.State, r.ScheduledAt
	call.Topics = topics(script, producer.PublishesDeclared, producer.Publishes)
	out, does, err := invoke(ctx, cfg, call, &host{reads: r.Reads})
	if err == nil && does.fault == nil && does.lacks == "" {
		does.left, err = leftBy(out)
	}
	return does, err
}

// topics are those that a handler may publish to.
func topics(script Script, declared bool, publishes []eventlog.Topic) (names []string) {
	if !declared {
		publishes = script.Definition.Topics
	}
	for _, topic := range publishes {
		names = append(names, string(topic))
	}
	return names
}

// prepareOf is the call of prepare with what the recorded run was given. lacks names what was not recorded.
func prepareOf(cfg Config, script Script, consumer *eventlog.Consumer, r *recording.Recording) (
	call sandbox.Invocation, lacks string) {
	call = callOf(cfg, script, sandbox.Prepare, r)
	call.Pending = map[string][]sandbox.Event{}
	for _, topic := range consumer.Subscribe {
		if call.Pending[string(topic)] = r.Pending[string(topic)]; slices.Contains(r.More, string(topic)) {
			call.More = append(call.More, string(topic))
		}
		if _, known := r.Pending[string(topic)]; !known {
			return call, fmt.Sprintf("the events of topic %s are not recorded", topic)
		}
	}
	if consumer.Concurrent() != (r.Event != nil) {
		return call, "a run of one event is not like one of many"
	}
	if !consumer.Concurrent() {
		call.State = r.State
	}
	return call, ""
}

// callOf is what each call of a recorded run is given.
func callOf(cfg Config, script Script, phase sandbox.Phase, r *recording.Recording) sandbox.Invocation {
	call := sandbox.Invocation{
		Workflow: string(cfg.Workflow), Source: script.Source, Phase: phase, Handler: string(r.Handler),
		Vars: cfg.Vars, Now: r.At, Still: true, Seed: r.Seed, Limits: cfg.Limits,
	}
	for _, op := range script.Definition.Operations {
		call.Operations = append(call.Operations, sandbox.Operation{Connector: op.Connector, Operation: op.Operation,
			Kind: sandbox.OperationKind(op.Kind)})
	}
	return call
}

// invoke makes one call. An error is none of the script.
func invoke(ctx context.Context, cfg Config, call sandbox.Invocation, host *host) (sandbox.Result, outcome, error) {
	out, err := cfg.Scripts.Invoke(ctx, call, host)
	var fault *sandbox.Error
	var lacking *lackingError
	switch {
	case err == nil:
		return out, outcome{}, nil
	case errors.As(err, &lacking):
		return out, outcome{lacks: lacking.Error()}, nil
	case !errors.As(err, &fault):
		return out, outcome{}, err
	case fault.Code == sandbox.CodeMore:
		return out, outcome{lacks: "it looks at more events than are recorded"}, nil
	case fault.Fault == sandbox.FaultScript, fault.Fault == sandbox.FaultRead:
		return out, outcome{fault: fault}, nil
	case ctx.Err() != nil:
		return out, outcome{}, ctx.Err()
	}
	return out, outcome{lacks: fault.Message}, nil // the machine's doing
}

// host answers reads as they were answered then.
type host struct{ reads []recording.Read }

// lackingError is a read that was not recorded.
type lackingError struct{ operation, params string }

func (e *lackingError) Error() string {
	return fmt.Sprintf("%s(%s) was not read then", e.operation, e.params)
}

// Read implements sandbox.Host.
func (h *host) Read(_ context.Context, connector, operation string, params json.RawMessage) (json.RawMessage, error) {
	for _, read := range h.reads {
		if read.Connector != connector || read.Operation != operation || !bytes.Equal(read.Params, params) {
			continue
		}
		if read.Failure != nil {
			return nil, read.Failure
		}
		return read.Answer, nil
	}
	if found := h.alike(connector, operation, params); found != nil {
		return found.Answer, nil
	}
	name := connector + "." + operation
	if connector == sandbox.OwnConnector {
		name = "ctx." + operation
	}
	return nil, &lackingError{name, eventlog.Clip(params, 200)}
}

// alike is an answered read whose parameters are the same but for their order.
func (h *host) alike(connector, operation string, params json.RawMessage) *recording.Read {
	for i := range h.reads {
		read := &h.reads[i]
		if read.Connector != connector || read.Operation != operation || read.Failure != nil {
			continue
		}
		if found, err := difference.Of(read.Params, params); err == nil && len(found) == 0 {
			return read
		}
	}
	return nil
}

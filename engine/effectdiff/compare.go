package effectdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

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
}

// NotCompared says what a comparison leaves out, to whom it is shown.
const NotCompared = "What next does is not compared, and producers are not run: try both with pawl test"

// Kind says how the effect of a run differs.
type Kind string

// The kinds of differences.
const (
	Same    Kind = "same"
	New     Kind = "new"     // only the new script makes a call
	Gone    Kind = "gone"    // only the old one does
	Changed Kind = "changed" // the calls differ, or the events that prepare chooses
	Fails   Kind = "fails"   // the new script fails where the old one does not
	// NotReplayed: what one of them asks for was not recorded, or the old one fails too.
	NotReplayed Kind = "notReplayed"
)

// Call is a change that a script names.
type Call struct {
	Operation string          `json:"operation"`
	Params    json.RawMessage `json:"params"`
	Title     string          `json:"title,omitempty"`
	// Asks says that the script wants a person to approve the call, whatever is granted.
	Asks bool `json:"asks,omitempty"`
}

// Effect is what became of one run under both scripts.
type Effect struct {
	Run     eventlog.RunID          `json:"run"`
	Version eventlog.Version        `json:"version" jsonschema:"the version that ran then"`
	Handler eventlog.Handler        `json:"handler"`
	Kind    Kind                    `json:"kind" jsonschema:"same, new, gone, changed, fails or notReplayed"`
	Before  *Call                   `json:"before,omitempty" jsonschema:"the call of the version that runs now"`
	After   *Call                   `json:"after,omitempty" jsonschema:"the call of the new script"`
	Fields  []difference.Difference `json:"fields,omitempty" jsonschema:"the parameters in which the calls differ; (reserved) and (cancelled) are the events that prepare chooses"`
	Error   string                  `json:"error,omitempty" jsonschema:"why it fails, or could not be replayed"`
	Line    int                     `json:"line,omitempty" jsonschema:"the line of the script that fails"`
}

// outcome is what one script does in one run.
type outcome struct {
	call *Call
	// reserved and cancelled are the events that prepare chooses, ids by topic.
	reserved, cancelled chosen
	fault               *sandbox.Error
	// lacks names what was not recorded.
	lacks string
}

// Compare runs both scripts on each recording, on all processors. The effects are in the order of the recordings.
// It fails when ctx ends, or when the executor does.
func Compare(ctx context.Context, cfg Config, before, after Script, recordings []recording.Recording) ([]Effect,
	error) {
	effects := make([]Effect, len(recordings))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) + 1 {
		workers.Go(func() {
			for i := range next {
				effect, err := compare(ctx, cfg, before, after, &recordings[i])
				if err != nil {
					stop(err)
				}
				effects[i] = effect
			}
		})
	}
feeding:
	for i := range recordings {
		select {
		case next <- i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("replay recorded runs: %w", context.Cause(ctx))
	}
	return effects, nil
}

func compare(ctx context.Context, cfg Config, before, after Script, r *recording.Recording) (Effect, error) {
	e := Effect{Run: r.Run, Version: r.Version, Handler: r.Handler, Kind: NotReplayed}
	old, err := replay(ctx, cfg, before, r)
	if err != nil {
		return e, err
	}
	changed, err := replay(ctx, cfg, after, r)
	if err != nil {
		return e, err
	}
	e.Before, e.After = old.call, changed.call
	switch {
	case old.lacks != "":
		e.Error = "the version that runs now: " + old.lacks
	case changed.lacks != "":
		e.Error = "the new script: " + changed.lacks
	case changed.fault != nil && old.fault != nil:
		e.Error, e.Line = "both fail; the new script: "+changed.fault.Message, changed.fault.Line
	case changed.fault != nil:
		e.Kind, e.Error, e.Line = Fails, changed.fault.Message, changed.fault.Line
	case old.call == nil && changed.call == nil:
		e.Kind = Same
		return e, e.compareChosen(&old, &changed)
	case old.call == nil:
		e.Kind = New
	case changed.call == nil:
		e.Kind = Gone
	default:
		e.Kind = Changed
		if e.Fields, err = difference.Of(old.call.Params, changed.call.Params); err != nil {
			return e, err
		}
		if old.call.Asks != changed.call.Asks {
			e.Fields = append(e.Fields, difference.Difference{Path: "(approval)", Before: asks(old.call),
				After: asks(changed.call)})
		}
		if len(e.Fields) == 0 && old.call.Operation == changed.call.Operation {
			e.Kind = Same
		}
		return e, e.compareChosen(&old, &changed)
	}
	return e, nil
}

// chosen are events: their ids by topic, in the order in which prepare names them.
type chosen map[eventlog.Topic][]eventlog.MessageID

func (c *chosen) add(topic eventlog.Topic, id eventlog.MessageID) {
	if *c == nil {
		*c = chosen{}
	}
	(*c)[topic] = append((*c)[topic], id)
}

// encode writes them, nil for none.
func (c chosen) encode() (json.RawMessage, error) {
	if len(c) == 0 {
		return nil, nil
	}
	written, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("compare the events that prepare chooses: %w", err)
	}
	return written, nil
}

// compareChosen notes where the scripts do not choose the same events: what is reserved is consumed with the run.
func (e *Effect) compareChosen(old, changed *outcome) error {
	for _, part := range []struct {
		name        string
		before, now chosen
	}{{"(reserved)", old.reserved, changed.reserved}, {"(cancelled)", old.cancelled, changed.cancelled}} {
		before, err := part.before.encode()
		if err != nil {
			return err
		}
		now, err := part.now.encode()
		if err != nil {
			return err
		}
		if !bytes.Equal(before, now) {
			e.Kind = Changed
			e.Fields = append(e.Fields, difference.Difference{Path: part.name, Before: before, After: now})
		}
	}
	return nil
}

// asks is how a difference shows whether a person has to approve the call.
func asks(c *Call) json.RawMessage {
	if c.Asks {
		return json.RawMessage(`"the script asks a person"`)
	}
	return json.RawMessage(`"as granted"`)
}

// replay runs prepare, and mutate where prepare has chosen something.
func replay(ctx context.Context, cfg Config, script Script, r *recording.Recording) (outcome, error) {
	consumer, ok := script.Definition.Consumer(r.Handler)
	if !ok {
		return outcome{}, nil // it does nothing with these events
	}
	call := sandbox.Invocation{
		Workflow: string(cfg.Workflow), Source: script.Source, Phase: sandbox.Prepare, Handler: string(r.Handler),
		Vars: cfg.Vars, Now: r.At, Still: true, Seed: r.Seed, Limits: cfg.Limits, Pending: map[string][]sandbox.Event{},
	}
	for _, topic := range consumer.Subscribe {
		if call.Pending[string(topic)] = r.Pending[string(topic)]; slices.Contains(r.More, string(topic)) {
			call.More = append(call.More, string(topic))
		}
		if _, known := r.Pending[string(topic)]; !known {
			return outcome{lacks: fmt.Sprintf("the events of topic %s are not recorded", topic)}, nil
		}
	}
	if consumer.Concurrent() != (r.Event != nil) {
		return outcome{lacks: "a run of one event is not like one of many"}, nil
	}
	if !consumer.Concurrent() {
		call.State = r.State
	}
	for _, op := range script.Definition.Operations {
		call.Operations = append(call.Operations, sandbox.Operation{Connector: op.Connector, Operation: op.Operation,
			Kind: sandbox.OperationKind(op.Kind)})
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
	var does outcome
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

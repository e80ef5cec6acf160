package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// invocation fills what every phase needs.
func (c *Caller) invocation(
	s *projections.State, run *projections.Run, phase sandbox.Phase,
) (sandbox.Invocation, *eventlog.Failure) {
	script := s.Script(run.Version)
	if script == nil {
		return sandbox.Invocation{}, failed(eventlog.Internal, "script.missing",
			"version "+string(run.Version)+" of the script is not in memory")
	}
	p := c.cfg.Policies.Script
	call := sandbox.Invocation{
		Workflow: string(c.name),
		Source:   sandbox.Source{Filename: script.Filename, Code: script.Source}, Phase: phase, Handler: string(run.Handler),
		Vars: c.cfg.Vars, Now: c.cfg.Clock.Now(), Seed: uint64(c.cfg.Jitter() * (1 << 53)),
		Limits: sandbox.Limits{
			CPU: p.CPU, Wall: p.Wall, Reads: p.Reads, Source: int(p.Source), Argument: int(p.Argument),
			Result: int(p.Result), State: int(p.State),
			Publish: int(p.Publish), Log: int(p.Log), HostCalls: p.HostCalls, InFlight: p.InFlight, Stack: p.Stack,
		},
	}
	def := &script.Definition
	for _, op := range def.Operations {
		call.Operations = append(call.Operations, sandbox.Operation{
			Connector: op.Connector, Operation: op.Operation, Kind: sandbox.OperationKind(op.Kind),
		})
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
		call.MutateReadsByID = consumer.MutateReadsByID
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

func (c *Caller) host(s *projections.State, run *projections.Run, call sandbox.Invocation) *host {
	return &host{caller: c, state: s, run: run, phase: call.Phase, origin: call.Now, start: time.Now()}
}

// invoke makes the call, and keeps what was logged and read.
func (h *host) invoke(ctx context.Context, call sandbox.Invocation) (sandbox.Result, error) {
	out, err := h.caller.cfg.Scripts.Invoke(ctx, call, h)
	if !looksFurther(err) { // else it is called again, and says all of it again
		h.keepCall(call, out, err)
	}
	return out, err
}

// keepCall keeps what the call has logged and read.
func (h *host) keepCall(call sandbox.Invocation, out sandbox.Result, err error) {
	c := h.caller
	if h.recorded() && (h.phase == sandbox.Prepare || len(out.Publishes) > 0) { // most polls find nothing
		h.record(call)
	}
	if log := c.cfg.RunLog; log != nil {
		lines := append(h.calls(), out.Logs...)
		if err != nil {
			lines = append(lines, h.inputsOf(call))
		}
		slices.SortStableFunc(lines, func(a, b sandbox.LogLine) int { return a.At.Compare(b.At) })
		if len(lines) > 0 {
			log(c.name, h.run.ID, h.run.Handler, lines)
		}
	}
}

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
		ScheduledAt    *time.Time                 `json:"scheduledAt,omitempty"`
		Undefined      []string                   `json:"undefined,omitempty"`
	}{call.Phase, call.State, call.Prepared, call.MutationResult, call.Pending, scheduledAt(call), undefined(call)})
	if err != nil || len(text) > maxLoggedInputs {
		text = fmt.Appendf(nil, `{"phase":%q,"truncated":true,"bytes":%d}`, call.Phase, len(text))
	}
	return sandbox.LogLine{At: h.at(time.Now()), Level: LevelInputs, Text: string(text)}
}

func scheduledAt(call sandbox.Invocation) *time.Time {
	if call.ScheduledAt.IsZero() {
		return nil
	}
	return &call.ScheduledAt
}

// undefined names the parameters that the handler was given as undefined, which JSON cannot say.
func undefined(call sandbox.Invocation) (names []string) {
	for _, p := range []struct {
		name  string
		value json.RawMessage
		given bool
	}{
		{"state", call.State, call.Phase == sandbox.Producer || call.Phase == sandbox.Prepare},
		{"prepared", call.Prepared, call.Phase == sandbox.Mutate || call.Phase == sandbox.Next},
		{"mutationResult", call.MutationResult, call.Phase == sandbox.Next},
	} {
		if p.given && p.value == nil {
			names = append(names, p.name)
		}
	}
	return names
}

func looksFurther(err error) bool {
	var fault *sandbox.Error
	return errors.As(err, &fault) && fault.Code == sandbox.CodeMore
}

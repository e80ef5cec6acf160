package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// program is the source text of a simulated script: what it declares, as JSON.
type program struct {
	Name string `json:"name"`
	// Version makes the bytes differ.
	Version int `json:"version"`
	Shape   int `json:"shape"`
	// MaxAttempts is J2's limit, nil for none.
	MaxAttempts *int `json:"maxAttempts,omitempty"`
	// Broken scripts throw in prepare until another version is deployed.
	Broken bool `json:"broken,omitempty"`
	// X and Y make these consumers concurrent; nil leaves them plain.
	X *concurrency `json:"x,omitempty"`
	Y *concurrency `json:"y,omitempty"`
}

// choice are events of a topic that a simulated prepare reserves or cancels.
type choice struct {
	Topic  string   `json:"topic"`
	IDs    []string `json:"ids"`
	Reason string   `json:"reason,omitempty"`
}

// preparedResult is what a simulated prepare returns.
type preparedResult struct {
	Reservations []choice `json:"reservations"`
	Cancel       []choice `json:"cancel,omitempty"`
	Data         prepared `json:"data"`
	WakeAt       string   `json:"wakeAt,omitempty"`
	// UI is an object where the engine can read the result (R19).
	UI string `json:"ui,omitempty"`
}

// reserves reports whether the result names an event to reserve.
func (r *preparedResult) reserves() bool {
	return slices.ContainsFunc(r.Reservations, func(c choice) bool { return len(c.IDs) > 0 })
}

// shapes is how many kinds of workflow there are.
const shapes = 5

func (p program) source() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a plain struct
	}
	return string(text)
}

// Topics: a and b are subscribed by some shapes, free never.
const (
	topicA    eventlog.Topic = "a"
	topicB    eventlog.Topic = "b"
	topicFree eventlog.Topic = "free"
)

func (p program) definition() sandbox.Definition {
	d := sandbox.Definition{Name: p.Name, Topics: []string{string(topicA), string(topicB), string(topicFree)}}
	producer := sandbox.ProducerDefinition{Name: "poll", Interval: "10m"}
	x := sandbox.ConsumerDefinition{Name: "x", Subscribe: []string{"a"}, HasMutate: true, HasNext: true,
		MaxAttempts: p.MaxAttempts}
	if p.MaxAttempts != nil {
		x.DeadLetter = string(topicFree)
	}
	y := sandbox.ConsumerDefinition{Name: "y", Subscribe: []string{"b"}, HasNext: true}
	p.X.declare(&x)
	p.Y.declare(&y)
	switch p.Shape {
	case 0:
		d.Producers, d.Consumers = []sandbox.ProducerDefinition{producer}, []sandbox.ConsumerDefinition{x, y}
	case 1:
		x.Subscribe, x.HasNext = []string{"a", "b"}, false
		d.Consumers = []sandbox.ConsumerDefinition{x}
	case 2:
		d.Producers, d.Consumers = []sandbox.ProducerDefinition{producer}, []sandbox.ConsumerDefinition{x}
	case 3:
		x.MutateReadsByID = true
		d.Consumers = []sandbox.ConsumerDefinition{x, y}
	case 4:
		y.HasMutate, y.HasNext = true, true
		d.Producers, d.Consumers = []sandbox.ProducerDefinition{producer, {Name: "scan", Bare: true}},
			[]sandbox.ConsumerDefinition{x, y}
	}
	for i, operation := range []string{opList, opGet, opSend, opFire} {
		d.Uses = append(d.Uses, sandbox.OperationUse{Connector: connectorName, Operation: operation, Line: i + 1, Column: 1})
	}
	return d
}

// has reports whether the script declares the handler.
func (p program) has(handler string) bool {
	d := p.definition()
	return slices.ContainsFunc(d.Producers, func(x sandbox.ProducerDefinition) bool { return x.Name == handler }) ||
		slices.ContainsFunc(d.Consumers, func(x sandbox.ConsumerDefinition) bool { return x.Name == handler })
}

// scriptAnswer is what one invocation comes to.
type scriptAnswer struct {
	result sandbox.Result
	// read makes the script read before; failing is the class of that read's failure, if any.
	read    bool
	failing eventlog.Class
	fault   *sandbox.Error
	// mutates: mutate follows this prepare in the same call (sandbox.Invocation.ThenMutate).
	mutates bool
}

// scripts is the sandbox of one engine.
type scripts struct {
	sim  *sim
	node *node
}

var _ sandbox.Executor = (*scripts)(nil)

func parse(source sandbox.Source) (program, error) {
	var p program
	return p, json.Unmarshal([]byte(source.Code), &p)
}

// Describe implements sandbox.Executor.
func (x *scripts) Describe(_ context.Context, source sandbox.Source) (sandbox.Definition, []sandbox.Problem, error) {
	p, err := parse(source)
	if err != nil {
		return sandbox.Definition{}, nil, err
	}
	return p.definition(), nil, nil
}

// Invoke implements sandbox.Executor. A mutate that follows comes up at the gate by itself: the engine may die, stop or
// stand still between the two handlers.
func (x *scripts) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	result, mutates, fault := x.invoke(ctx, call, host, false)
	if fault != nil {
		return result, fault
	}
	if mutates {
		then := call.Mutate()
		then.Prepared = result.Value
		result.Mutate = &sandbox.MutateResult{}
		result.Mutate.Result, _, result.Mutate.Failure = x.invoke(ctx, then, nil, true)
	}
	return result, nil
}

// invoke runs one handler; follows says that it is a mutate that follows its prepare. It reports whether one is to
// follow this handler.
func (x *scripts) invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host, follows bool) (
	result sandbox.Result, mutates bool, fault *sandbox.Error) {
	p, err := parse(call.Source)
	if err != nil {
		return result, false, sandbox.InternalFault("%v", err)
	}
	answer, err := x.sim.gate.park(ctx, &op{node: x.node, workflow: eventlog.WorkflowName(p.Name), kind: opScript,
		script: call, follows: follows, about: aboutScript(p, call)})
	if err != nil {
		<-ctx.Done()
		return result, false, sandbox.Cancelled(ctx, err.Error())
	}
	out := answer.(scriptAnswer)
	if out.read {
		params, _ := json.Marshal(map[string]eventlog.Class{"fail": out.failing})
		if _, err := host.Read(ctx, connectorName, opList, params); err != nil {
			var cause *eventlog.Failure
			if !errors.As(err, &cause) {
				x.sim.violate("a read failed with %T and not with a failure: %v", err, err)
			}
			return result, false, &sandbox.Error{Fault: sandbox.FaultRead, Code: "read.failed", Message: err.Error(),
				Cause: err}
		}
	}
	return out.result, out.mutates, out.fault
}

// Close implements sandbox.Executor.
func (x *scripts) Close() error { return nil }

// concurrency is what a concurrent consumer declares (C1, C2, C12).
type concurrency struct {
	N    int    `json:"n"`
	Key  string `json:"key,omitempty"`
	Rate string `json:"rate,omitempty"`
}

// declare makes the defined consumer concurrent, unless b is nil.
func (b *concurrency) declare(c *sandbox.ConsumerDefinition) {
	if b != nil {
		c.Concurrency, c.Key, c.Rate = &b.N, b.Key, b.Rate
	}
}

// concurrency is what the handler declares; nil for a plain one.
func (p program) concurrency(handler string) *concurrency {
	switch handler {
	case "x":
		return p.X
	case "y":
		return p.Y
	}
	return nil
}

// payload is that of an event: with a key, in a seed with concurrent consumers.
func (s *sim) payload() json.RawMessage {
	if !s.concurrent {
		return fmt.Appendf(nil, `{"v":%d}`, s.rng.IntN(9))
	}
	if s.chance(0.1) {
		return fmt.Appendf(nil, `[%d]`, s.rng.IntN(9))
	}
	return fmt.Appendf(nil, `{"k":%d,"v":%d}`, s.rng.IntN(3), s.rng.IntN(9))
}

func (s *sim) program(w *workflow) program {
	w.versions++
	p := program{Name: string(w.name), Version: w.versions, Shape: s.rng.IntN(shapes), Broken: !s.calm && s.chance(0.05)}
	if s.chance(s.profile.limited) {
		limit := s.rng.IntN(3)
		p.MaxAttempts = &limit
	}
	s.declareConcurrency(&p)
	return p
}

func aboutScript(p program, call sandbox.Invocation) string {
	if p.concurrency(call.Handler) == nil {
		return ""
	}
	about := call.Handler + string(call.Phase) + string(call.Prepared)
	for topic, events := range call.Pending {
		for _, e := range events { // one of one topic
			about += topic + "/" + e.MessageID
		}
	}
	return about
}

// prepareOne draws what a prepare does that is given one event: it confirms the event, cancels it, chooses nothing, or
// wants another one.
func (s *sim) prepareOne(answer scriptAnswer, o *op) (scriptAnswer, string) {
	s.tags++
	out := preparedResult{Reservations: []choice{}, Data: prepared{Tag: s.tags, Concurrent: true}}
	how := "finds nothing"
	for topic, events := range o.script.Pending {
		for _, e := range events { // at most one of one topic
			own := choice{Topic: topic, IDs: []string{e.MessageID}, Reason: "not wanted"}
			x := s.rng.Float64()
			switch {
			case s.calm || x < 0.8:
				own.Reason = ""
				out.Reservations = append(out.Reservations, own)
				out.Data.Refs = append(out.Data.Refs, eventlog.EventRef{Topic: eventlog.Topic(topic),
					MessageID: eventlog.MessageID(e.MessageID)})
				how = "confirms its event"
			case x < 0.87:
				out.Cancel = append(out.Cancel, own)
				how = "cancels its event"
			case x < 0.97:
				how = "chooses nothing"
			default:
				other := fmt.Sprintf("e%d", 1+s.rng.IntN(s.ids+1))
				out.Reservations = append(out.Reservations, choice{Topic: topic, IDs: []string{other}})
				out.Data.Refs = append(out.Data.Refs, eventlog.EventRef{Topic: eventlog.Topic(topic),
					MessageID: eventlog.MessageID(other)})
				how = "wants " + other
			}
		}
	}
	if !s.calm && s.chance(0.1) {
		out.WakeAt = s.wakeAt(o)
	}
	return s.returned(answer, o, out, how)
}

// AndMutates is what the trace says of a prepare that mutate follows in the same call.
const AndMutates = ", and mutate follows"

// returned is the answer of a prepare that returns a result. Like a worker it lets mutate follow only if the prepare
// reserves events and has read nothing, and sometimes leaves mutate to the engine. That is drawn by the chain, apart
// from all else: it makes no difference to the rest of the history.
func (s *sim) returned(answer scriptAnswer, o *op, out preparedResult, how string) (scriptAnswer, string) {
	tag := out.Data.Tag
	if !s.calm && s.profile.scriptFails > 0 && s.ofChain(tag, 3) < 0.02 {
		out.UI = "no object"
		how += " in a result of a wrong shape"
	}
	answer.result.Value, _ = json.Marshal(out)
	s.judge.chains[tag] = &chain{prepared: string(answer.result.Value), malformed: out.UI != ""}
	if o.script.ThenMutate && out.reserves() && !answer.read && s.ofChain(tag, 1) < 0.8 {
		answer.mutates = true
		how += AndMutates
	}
	return answer, fmt.Sprintf("chain %d %s", tag, how)
}

// ofChain draws a number in [0, 1) that the seed, the chain and its use alone fix.
func (s *sim) ofChain(tag int, use uint64) float64 {
	return rand.New(rand.NewPCG(s.cfg.Seed, uint64(tag)<<8|use)).Float64()
}

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

// Invoke implements sandbox.Executor.
func (x *scripts) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	p, err := parse(call.Source)
	if err != nil {
		return sandbox.Result{}, sandbox.InternalFault("%v", err)
	}
	answer, err := x.sim.gate.park(ctx, &op{node: x.node, workflow: eventlog.WorkflowName(p.Name), kind: opScript,
		script: call, about: aboutScript(p, call)})
	if err != nil {
		<-ctx.Done()
		return sandbox.Result{}, &sandbox.Error{Fault: sandbox.FaultTransient, Code: "script.cancelled", Message: err.Error()}
	}
	out := answer.(scriptAnswer)
	if out.read {
		params, _ := json.Marshal(map[string]eventlog.Class{"fail": out.failing})
		if _, err := host.Read(ctx, connectorName, opList, params); err != nil {
			var cause *eventlog.Failure
			if !errors.As(err, &cause) {
				x.sim.violate("a read failed with %T and not with a failure: %v", err, err)
			}
			return sandbox.Result{}, &sandbox.Error{Fault: sandbox.FaultRead, Code: "read.failed", Message: err.Error(),
				Cause: err}
		}
	}
	if out.fault != nil {
		return sandbox.Result{}, out.fault
	}
	return out.result, nil
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

// drawConcurrent decides whether the seed has concurrent consumers. It draws apart from all else, so that the other
// seeds keep their histories.
func (s *sim) drawConcurrent() bool {
	switch {
	case s.cfg.Focus == Sharing:
		return s.cfg.Seed%3 == 2
	case s.cfg.Focus != Drawn:
		return s.cfg.Focus > Anything
	}
	return rand.New(rand.NewPCG(s.cfg.Seed, 0xc1)).Float64() < 0.4
}

// drawConcurrency is what a consumer of a seed with concurrency declares; nil for a plain one.
func (s *sim) drawConcurrency(p float64) *concurrency {
	if !s.chance(p) {
		return nil
	}
	return &concurrency{N: pick(s, 1, 2, 2, 3, 5), Key: pick(s, "", "k", "k", "k", "v"),
		Rate: pick(s, "", "", "", "", "1/s", "20/m")}
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

// declareConcurrency makes most consumers concurrent in a seed with concurrency.
func (s *sim) declareConcurrency(p *program) {
	if s.concurrent {
		p.X, p.Y = s.drawConcurrency(0.8), s.drawConcurrency(0.3)
	}
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

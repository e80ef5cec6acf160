package simulation

import (
	"context"
	"encoding/json"
	"errors"
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
	y := sandbox.ConsumerDefinition{Name: "y", Subscribe: []string{"b"}, HasNext: true}
	switch p.Shape {
	case 0:
		d.Producers, d.Consumers = []sandbox.ProducerDefinition{producer}, []sandbox.ConsumerDefinition{x, y}
	case 1:
		x.Subscribe, x.HasNext = []string{"a", "b"}, false
		d.Consumers = []sandbox.ConsumerDefinition{x}
	case 2:
		d.Producers, d.Consumers = []sandbox.ProducerDefinition{producer}, []sandbox.ConsumerDefinition{x}
	case 3:
		x.MutateByID = true
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
		return sandbox.Result{}, &sandbox.Error{Fault: sandbox.FaultInternal, Code: "internal", Message: err.Error()}
	}
	answer, err := x.sim.gate.park(ctx, &op{node: x.node, workflow: eventlog.WorkflowName(p.Name), kind: opScript,
		script: call})
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

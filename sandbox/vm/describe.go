package vm

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
)

// Describe compiles a source and reads its definition under the given limits. The problems are
// sorted by line; a definition beside an error is incomplete.
func Describe(ctx context.Context, around Surroundings, limits sandbox.Limits,
	source sandbox.Source) (d sandbox.Definition, problems []sandbox.Problem, err error) {
	defer func() {
		// Reading the text of a script is our own code; a mistake in it must not end the process.
		if x := recover(); x != nil {
			d, problems = sandbox.Definition{}, nil
			failed := sandbox.InternalFault("describe script: %v", x)
			failed.Stack = sandbox.Clip(string(debug.Stack()), sandbox.MaxStackText)
			err = failed
		}
	}()
	if ctx.Err() != nil {
		return sandbox.Definition{}, nil, sandbox.Cancelled(ctx, sandbox.DescribeCancelled)
	}
	sc, text, problems := Prepare(source, limits.Source)
	if sc == nil {
		finding.Sort(problems)
		return sandbox.Definition{}, problems, nil
	}
	around.Scripts.put(source, sc, problems)

	s := newSession(sc, limits, time.Now(), 0, around.CPU)
	defer s.watch(ctx, sandbox.DescribeCancelled)()
	defer s.watch(around.Closing, "the executor was closed")()

	r := &reader{session: s, text: text}
	if fault := r.run(); fault != nil {
		if fault.Fault != sandbox.FaultScript {
			return sandbox.Definition{}, nil, fault
		}
		// What the text alone shows is still worth saying: one round of repair less.
		problems = append(problems, sandbox.ProblemOf(fault))
		r.definition.Incomplete, r.definition.Unread = true, nil
	} else {
		problems = append(problems, r.problems...)
		r.definition.Incomplete = r.definition.Incomplete || len(r.definition.Unread) > 0
		if len(r.definition.Unread) > finding.MaxProblems {
			r.definition.Unread = nil // the rest is not read
		}
	}
	r.definition.Places = r.text.Places(&r.definition)
	problems = append(problems, lint.Check(r.text, &r.definition, s.globals())...)
	return r.definition, finding.Listed(problems), nil
}

// run executes the top-level code and reads what it exports, under the deadline.
func (r *reader) run() (fault *sandbox.Error) {
	s := r.session
	s.clock.run()
	defer func() {
		if x := recover(); x != nil {
			fault = r.recovered(x)
		}
		s.outcome.end(fault, nil)
		if e := s.outcome.fault(); e != nil {
			fault = e
		}
		s.clock.stop()
	}()
	exported, err := s.load(r.global())
	if err == nil {
		if ex := s.rt.Try(func() { r.read(exported) }); ex != nil {
			err = ex
		}
	}
	if err != nil {
		return s.faultOf(err)
	}
	return nil
}

// global is the script's global Pawl while it is described: it remembers what Pawl.workflow returned, so
// that a default export made otherwise is noticed.
func (r *reader) global() goja.Value {
	global := r.rt.NewObject()
	identity := func(call goja.FunctionCall) goja.Value { return call.Argument(0) }
	r.must(global.Set("workflow", func(call goja.FunctionCall) goja.Value {
		r.workflows = append(r.workflows, call.Argument(0))
		return call.Argument(0)
	}))
	r.must(global.Set("consumer", identity))
	r.must(global.Set("producer", identity))
	r.must(global.Set("hook", identity))
	return global
}

package sandbox

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dop251/goja"
)

// describe compiles a source and reads its definition under the given limits. The problems are
// sorted by line; a definition beside an error is incomplete.
func describe(ctx context.Context, around surroundings, limits Limits, source Source) (d Definition, problems []Problem, err error) {
	defer func() {
		// Reading the text of a script is our own code; a mistake in it must not end the process.
		if x := recover(); x != nil {
			d, problems = Definition{}, nil
			err = &Error{Fault: FaultInternal, Code: "internal", Message: fmt.Sprintf("describe script: %v", x), Stack: clip(string(debug.Stack()), maxStack)}
		}
	}()
	if ctx.Err() != nil {
		return Definition{}, nil, cancelled(ctx, describeCancelled)
	}
	sc, text, problems := prepare(source, limits.Source)
	if sc == nil {
		sortProblems(problems)
		return Definition{}, problems, nil
	}
	around.scripts.put(source, sc, problems)

	s := newSession(sc, limits, time.Now(), 0, around.cpu)
	defer s.watch(ctx, describeCancelled)()
	defer s.watch(around.closing, "the executor was closed")()

	r := &reader{session: s, text: text}
	if fault := r.run(); fault != nil {
		if fault.Fault != FaultScript {
			return Definition{}, nil, fault
		}
		// What the text alone shows is still worth saying: one round of repair less.
		problems = append(problems, problemOf(fault))
		r.definition.Incomplete, r.definition.Unread = true, nil
	} else {
		problems = append(problems, r.problems...)
		r.definition.Incomplete = r.definition.Incomplete || len(r.definition.Unread) > 0
		if len(r.definition.Unread) > mostProblems {
			r.definition.Unread = nil // nobody reads what else there is
		}
	}
	r.definition.Places = r.text.places(&r.definition)
	problems = append(problems, check(r.text, &r.definition, s.globals())...)
	return r.definition, listed(problems), nil
}

// run executes the top-level code and reads what it exports, under the deadline.
func (r *reader) run() (fault *Error) {
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

// recovered describes a panic under the same guard: describing a thrown value may panic again.
func (s *session) recovered(x any) (fault *Error) {
	defer func() {
		if recover() != nil {
			fault = scriptFault("script.crashed", "the interpreter failed while running the script")
		}
	}()
	return s.panicked(x)
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
	return global
}

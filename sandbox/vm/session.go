package vm

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

func init() {
	// Must be set before the first script compiles an expression: each takes the value it finds.
	regexp2.DefaultMatchTimeout = sandbox.MaxCPU
}

// session is one use of one fresh runtime. Its runtime is touched by one goroutine only; outcome is
// the only part that others write.
type session struct {
	rt      *goja.Runtime
	script  *Program
	limits  sandbox.Limits
	outcome outcome

	values value.Parser // for what the host gives

	seed   uint64
	chance *rand.Rand // from the seed, made at the first use: most handlers ask for none

	start  time.Time // real time of the start
	origin time.Time // the script's time at start
	still  bool      // the script's time stands there

	runs []int // of the counted statements

	clock *scriptClock

	goErrorHidden bool

	// lastThrown is what a marked throw threw last, and where.
	lastThrown struct {
		value  goja.Value
		frames []goja.StackFrame
	}

	// rejected are promises rejected so far that no code handles.
	rejected []*goja.Promise

	log logBuffer
}

// newSession makes a runtime without any script code in it.
func newSession(sc *Program, limits sandbox.Limits, now time.Time, seed uint64, cpu func() time.Duration) *session {
	s := &session{rt: goja.New(), script: sc, limits: limits, seed: seed, start: time.Now()}
	s.values = value.NewParser(s.rt)
	s.origin = now
	if now.IsZero() {
		s.origin = s.start
	}
	s.clock = newScriptClock(limits, cpu, s.stop)
	s.log = logBuffer{limit: limits.Log}

	s.rt.SetMaxCallStackSize(limits.Stack)
	s.rt.SetTimeSource(s.now)
	s.rt.SetRandSource(func() float64 { return s.random().Float64() })
	s.rt.SetPromiseRejectionTracker(s.trackRejection)
	// eval and Function would otherwise load the file that a sourceMappingURL comment names.
	// They are also the sign that code is made at run time.
	s.rt.SetParserOptions(doFirst(s.hideGoError, parser.WithDisableSourceMaps))
	if sc.ReachesGlobal {
		s.hideGoError()
	}
	return s
}

// doFirst makes an option of the interpreter's parser that does something else first.
func doFirst[O any](do func(), option func(O)) func(O) {
	return func(options O) {
		do()
		option(options)
	}
}

// random is the source of chance.
func (s *session) random() *rand.Rand {
	if s.chance == nil {
		s.chance = rand.New(rand.NewPCG(s.seed, 0x70_61_77_6c))
	}
	return s.chance
}

// now is the script's time: it starts at the invocation's and advances with real time.
func (s *session) now() time.Time {
	if s.still {
		return s.origin
	}
	return s.origin.Add(time.Since(s.start))
}

// stop ends the invocation from any goroutine.
func (s *session) stop(e *sandbox.Error) {
	if s.outcome.end(e, nil) {
		s.rt.Interrupt(nil)
	}
}

// watch makes the end of ctx the end of the invocation; the result undoes it.
func (s *session) watch(ctx context.Context, message string) (unwatch func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true } // it never ends
	}
	return context.AfterFunc(ctx, func() {
		s.stop(sandbox.Cancelled(ctx, message))
	})
}

// abort ends the invocation from inside a native function, at once: the fault is recorded with the
// line of the call, and the panic takes the script down past every catch and finally (R7).
func (s *session) abort(e *sandbox.Error) {
	if !s.outcome.isOver() {
		s.locate(e, s.frames())
	}
	s.stop(e)
	// The flag stops code that unwinding itself would run, such as an iterator's return method.
	s.rt.Interrupt(nil)
	panic(interrupted())
}

// alive is the first line of every native function: after the end nothing of the script has any
// effect, however it got here.
func (s *session) alive() {
	if s.outcome.isOver() {
		s.rt.Interrupt(nil)
		panic(interrupted())
	}
}

func (s *session) trackRejection(p *goja.Promise, operation goja.PromiseRejectionOperation) {
	if operation == goja.PromiseRejectionReject {
		s.rejected = append(s.rejected, p)
		return
	}
	for i, known := range s.rejected {
		if known == p {
			s.rejected = append(s.rejected[:i], s.rejected[i+1:]...)
			return
		}
	}
}

// native makes a function for scripts.
func (s *session) native(f func(goja.FunctionCall) goja.Value) goja.Value { return s.rt.ToValue(f) }

// resolved is a promise that is already fulfilled.
func (s *session) resolved(v goja.Value) goja.Value {
	p, resolve, _ := s.rt.NewPromise()
	s.must(resolve(v))
	return s.rt.ToValue(p)
}

// must passes on what a nested call into the runtime ended with: an interruption or a stack
// overflow stays uncatchable, an exception stays an exception.
func (s *session) must(err error) {
	if err != nil {
		panic(err)
	}
}

package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/global"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// maxFrames is how many frames of a stack are kept.
const maxFrames = 32

// interrupted unwinds the script from inside a native function. goja lets neither catch nor finally
// see it; only the invocation's own fault or taken call says why.
func interrupted() *goja.InterruptedError { return &goja.InterruptedError{} }

// frames is the script's stack at this moment, unresolved and therefore cheap.
func (s *session) frames() []goja.StackFrame {
	return s.rt.CaptureCallStack(maxFrames, nil)
}

// place resolves frames to the innermost position in the author's source.
func (s *session) place(frames []goja.StackFrame) sandbox.Place {
	for i := range frames {
		if at := script.PlaceOf(&frames[i]); at.Line > 0 {
			return at
		}
	}
	return sandbox.Place{}
}

// stack writes frames as text in the author's lines.
func (s *session) stack(frames []goja.StackFrame) string {
	var b strings.Builder
	for i := range frames {
		if at := script.PlaceOf(&frames[i]); at.Line > 0 {
			fmt.Fprintf(&b, "at %s (%s:%d:%d)\n", sandbox.Clip(frames[i].FuncName(), 100), s.script.File, at.Line,
				at.Column)
		}
	}
	return sandbox.Clip(strings.TrimSuffix(b.String(), "\n"), sandbox.MaxStackText)
}

// locate fills in where a fault happened, unless something nearer to the cause did already.
func (s *session) locate(e *sandbox.Error, frames []goja.StackFrame) *sandbox.Error {
	if e.Line == 0 {
		at := s.place(frames)
		e.Line, e.Column = at.Line, at.Column
	}
	if e.Stack == "" {
		e.Stack = s.stack(frames)
	}
	return e
}

// faultOf turns what came out of a call into the runtime into the invocation's fault. An
// interruption without a recorded end cannot happen and is the executor's own fault.
func (s *session) faultOf(err error) *sandbox.Error {
	var stackOverflow *goja.StackOverflowError
	var stopped *goja.InterruptedError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &stopped):
		if e := s.outcome.fault(); e != nil {
			return s.locate(e, stopped.Stack())
		}
		return sandbox.InternalFault("the script was interrupted for no recorded reason")
	case errors.As(err, &stackOverflow):
		return s.locate(sandbox.LimitFault("limit.stack", "calls are nested deeper than %d", s.limits.Stack),
			stackOverflow.Stack())
	case errors.As(err, &thrown):
		return s.thrown(thrown.Value(), thrown.Stack())
	}
	e := sandbox.InternalFault("%v", err)
	e.Cause = err
	return e
}

// panicked turns a Go panic that came out of the interpreter into a fault. goja's natives panic on
// some arguments (a BigInt of 2^53 bits); the runtime is not used again.
func (s *session) panicked(x any) *sandbox.Error {
	if err, ok := x.(error); ok {
		var stopped *goja.InterruptedError
		var stackOverflow *goja.StackOverflowError
		var thrown *goja.Exception
		if errors.As(err, &stopped) || errors.As(err, &stackOverflow) || errors.As(err, &thrown) {
			return s.faultOf(err)
		}
		// A runtime.Error or an error of the interpreter's own: its text is not the script's.
		return sandbox.ScriptFault("script.crashed", "the interpreter failed while running the script: %s",
			sandbox.Clip(err.Error(), 300))
	}
	if v, ok := x.(goja.Value); ok {
		return s.thrown(v, nil)
	}
	if text, ok := x.(string); ok {
		return sandbox.ScriptFault("script.crashed", "the interpreter failed while running the script: %s",
			sandbox.Clip(text, 300))
	}
	return sandbox.ScriptFault("script.crashed", "the interpreter failed while running the script")
}

// thrown describes a value the script threw or rejected with. The value is hostile: each access may
// run script code, throw again, or pass the deadline.
func (s *session) thrown(v goja.Value, frames []goja.StackFrame) *sandbox.Error {
	if frames == nil {
		frames = s.thrownAt(v)
	}
	d := s.describe(v) // which may throw something else
	e := &sandbox.Error{Fault: sandbox.FaultScript, Code: "script.threw", Message: sandbox.Clip(d.message,
		sandbox.MaxMessage), Stack: d.stack}
	e.Line, e.Column = d.at.Line, d.at.Column
	return s.locate(e, frames)
}

type description struct {
	message string
	stack   string
	at      sandbox.Place
}

// describe never runs outside the deadline and never calls String or Error on an object.
func (s *session) describe(v goja.Value) description {
	switch {
	case v == nil || goja.IsUndefined(v):
		return description{message: "threw undefined"}
	case goja.IsNull(v):
		return description{message: "threw null"}
	}
	obj, ok := v.(*goja.Object)
	if !ok {
		return description{message: "threw " + sandbox.Clip(primitive(v), sandbox.MaxMessage)}
	}
	var d description
	name, message := s.text(obj, "name"), insides.ReplaceAllString(s.text(obj, "message"), "the object")
	switch {
	case name != "" && message != "":
		d.message = name + ": " + message
	case message != "":
		d.message = message
	case name != "":
		d.message = name
	default:
		d.message = "threw an object"
		if text, ok := s.json(obj); ok {
			d.message += " " + sandbox.Clip(text, 1000)
		} else {
			d.message += " that cannot be described"
		}
	}
	if hint, ok := global.Hint(name, message); ok {
		d.message += ": " + hint
	}
	d.stack, d.at = authorStack(s.text(obj, "stack"), s.script.File)
	return d
}

// insides is how the interpreter prints an object of a script that it cannot make a text or number of (goja of
// September 2026): as the Go value, with addresses.
var insides = regexp.MustCompile(`&\{Object 0x.*\}( \(\*goja\.\w+\))?`)

// primitive is a value that is no object, as text.
func primitive(v goja.Value) string {
	if v == nil {
		return "undefined"
	}
	if _, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + v.String() + ")"
	}
	return v.String()
}

// text reads one property that should be a string; anything else is "".
func (s *session) text(obj *goja.Object, name string) (text string) {
	_ = s.rt.Try(func() {
		if v := obj.Get(name); v != nil && value.IsText(v) {
			text = sandbox.Clip(v.String(), sandbox.MaxStackText)
		}
	})
	return text
}

// json is the object as JSON, unless it has none.
func (s *session) json(obj *goja.Object) (text string, ok bool) {
	b, err := obj.MarshalJSON()
	if err != nil {
		return "", false
	}
	return string(b), true
}

// stackLine is one frame of an Error's stack: `at name (file:line:column(pc))`, the name and its
// brackets optional.
var stackLine = regexp.MustCompile(`(?m)^\s*at (?:(.{1,200}?) \()?([A-Za-z0-9._-]+):(\d+):(\d+)\(\d+\)\)?\s*$`)

// authorStack keeps the frames of a stack that lie in the author's file. The text may be forged by
// the script: it is shown, and trusted for nothing.
func authorStack(stack, file string) (string, sandbox.Place) {
	var b strings.Builder
	var at sandbox.Place
	for _, m := range stackLine.FindAllStringSubmatch(sandbox.Clip(stack, sandbox.MaxStackText), maxFrames) {
		line, errLine := strconv.Atoi(m[3])
		column, errColumn := strconv.Atoi(m[4])
		if m[2] != file || errLine != nil || errColumn != nil {
			continue
		}
		if at.Line == 0 {
			at = sandbox.Place{Line: line, Column: column}
		}
		name := m[1]
		if name == "" {
			name = "<anonymous>"
		}
		fmt.Fprintf(&b, "at %s (%s:%d:%d)\n", name, file, line, column)
	}
	return sandbox.Clip(strings.TrimSuffix(b.String(), "\n"), sandbox.MaxStackText), at
}

// thrownAt is where a value was thrown, if it was the last one.
func (s *session) thrownAt(v goja.Value) []goja.StackFrame {
	if last := s.lastThrown.value; last == nil || v == nil || !last.SameAs(v) {
		return nil
	}
	return s.lastThrown.frames
}

// recovered describes a panic under the same guard: describing a thrown value may panic again.
func (s *session) recovered(x any) (fault *sandbox.Error) {
	defer func() {
		if recover() != nil {
			fault = sandbox.ScriptFault("script.crashed", "the interpreter failed while running the script")
		}
	}()
	return s.panicked(x)
}

// reservedNothing is what a failure of next says when prepare reserved nothing: authors do not expect next to run then.
const reservedNothing = ": prepare reserved nothing in this run, and next always runs: begin it with `if " +
	"(!prepared.data) return;`"

// explainReservedNothing completes what is said of a next that reads a member of data that is not there, in a run
// without reservations.
func explainReservedNothing(e *sandbox.Error, call *sandbox.Invocation) {
	reading := strings.HasPrefix(e.Message, "TypeError: Cannot ") || strings.HasPrefix(e.Message,
		"TypeError: Value is not object")
	if call.Phase != sandbox.Next || e.Code != "script.threw" || !reading {
		return
	}
	var prepared struct {
		Reservations []struct {
			IDs []json.RawMessage `json:"ids"`
		} `json:"reservations"`
		Data any `json:"data"`
	}
	if err := json.Unmarshal(call.Prepared, &prepared); err != nil || prepared.Data != nil {
		return
	}
	for _, r := range prepared.Reservations {
		if len(r.IDs) > 0 {
			return
		}
	}
	e.Message = sandbox.Clip(e.Message+reservedNothing, sandbox.MaxMessage)
}

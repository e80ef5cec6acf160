package vm

import (
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// write logs the arguments of one call, joined by spaces.
func (s *session) write(level string, args []goja.Value) {
	if s.log.cut {
		return // formatting costs time, and the line would be dropped
	}
	parts := make([]string, len(args))
	for i, v := range args {
		parts[i] = s.format(v)
	}
	s.log.add(s.now(), level, strings.Join(parts, " "), s.place(s.rt.CaptureCallStack(maxCallers, nil)).Line)
}

// maxCallers is how many frames are looked through for the author's line: the innermost are the natives through which
// the call came.
const maxCallers = 4

// format writes a value as a log shows it: strings as they are, errors with their stack, objects as
// JSON. It throws nothing, whatever the value's getters do.
func (s *session) format(v goja.Value) string {
	obj, ok := v.(*goja.Object)
	if !ok {
		return primitive(v)
	}
	if obj.ClassName() == "Error" {
		d := s.describe(obj)
		if d.stack != "" {
			return d.message + "\n" + d.stack
		}
		return d.message
	}
	if _, callable := goja.AssertFunction(obj); callable {
		return "[function]"
	}
	if value.IsPromise(obj) {
		return "[promise: write await before it]"
	}
	if text, ok := s.json(obj); ok {
		return text
	}
	return "[object that cannot be shown]"
}

// consoleLevels are the methods of console and the level each writes.
var consoleLevels = []struct{ method, level string }{
	{"log", "info"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}, {"debug", "debug"},
	{"trace", "debug"}, {"dir", "info"}, {"table", "info"}, {"group", "info"}, {"groupCollapsed", "info"},
}

// console makes the global of that name; scripts find their lines in the logs of the run.
func (s *session) console() goja.Value {
	console := s.rt.NewObject()
	for _, c := range consoleLevels {
		s.must(console.Set(c.method, s.native(func(call goja.FunctionCall) goja.Value {
			s.alive()
			s.write(c.level, call.Arguments)
			return goja.Undefined()
		})))
	}
	s.must(console.Set("groupEnd", s.native(func(goja.FunctionCall) goja.Value { return goja.Undefined() })))
	return console
}

// logBuffer collects what a handler logs. Text beyond the limit is cut, and the cut is marked; logging
// never fails a handler.
type logBuffer struct {
	lines []sandbox.LogLine
	limit int
	bytes int
	cut   bool
}

func (b *logBuffer) add(at time.Time, level, text string, line int) {
	if b.cut {
		return
	}
	left := b.limit - b.bytes - sandbox.LogLineCost
	if len(text) > left {
		b.cut = true
		if left > 0 {
			b.lines = append(b.lines, sandbox.LogLine{At: at, Level: level, Text: sandbox.Clip(text, left),
				Line: line})
		}
		b.lines = append(b.lines, sandbox.LogLine{At: at, Level: "warn",
			Text: fmt.Sprintf("log cut: one handler call may log %d bytes", b.limit), Line: line})
		return
	}
	b.bytes += len(text) + sandbox.LogLineCost
	b.lines = append(b.lines, sandbox.LogLine{At: at, Level: level, Text: text, Line: line})
}

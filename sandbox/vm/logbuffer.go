package vm

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

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

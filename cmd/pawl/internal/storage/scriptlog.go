package storage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/sandbox"
)

// scriptLog receives the lines that scripts write: it keeps them with their runs, and shows them.
type scriptLog struct {
	stream *runlog.Stream // nil where the disk is too full to keep lines
	// Tell shows a line to a person; nil where no person looks. It must not block.
	Tell func(eventlog.WorkflowName, eventlog.Handler, sandbox.LogLine)
}

// openScriptLog opens the stream of the lines. The lines are no facts: if the disk is too full for them, the engine
// still finishes the work that is under way.
func openScriptLog(
	ctx context.Context, broker *Broker, data string, with Parts, logger *slog.Logger,
) (l scriptLog, err error) {
	stream, err := openRunLog(ctx, broker, runlog.Config{MaxBytes: diskspace.RunLogLimit(broker.Limit),
		Replicas: broker.Replicas})
	if err = diskspace.Unwritten(err, data, with.Free); diskspace.IsFull(err) {
		logger.Warn("what scripts log is not kept before the next start: there is too little free space", "data", data)
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.stream = stream
	return l, nil
}

// openRunLog tries again, since a cluster answers slowly when several nodes make the stream at once.
func openRunLog(ctx context.Context, broker *Broker, c runlog.Config) (*runlog.Stream, error) {
	for end := time.Now().Add(time.Minute); ; {
		stream, err := runlog.Open(ctx, broker.NC, c)
		if !broker.Shared || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || time.Now().After(end) {
			return stream, err
		}
	}
}

// Reader reads the kept lines; nil where none are kept.
func (l scriptLog) Reader() ops.RunLog {
	if l.stream == nil {
		return nil
	}
	return l.stream
}

// Write receives the lines that one call of a script wrote.
func (l scriptLog) Write(
	w eventlog.WorkflowName, run eventlog.RunID, of eventlog.Handler, lines []sandbox.LogLine,
) {
	kept := make([]runlog.Line, len(lines))
	for i, line := range lines {
		kept[i] = runlog.Line{At: line.At, Level: line.Level, Text: line.Text, Line: line.Line}
		switch line.Level {
		case handler.LevelInputs, handler.LevelCall: // what was read from outside may be private mail: it is only kept
		case "debug": // kept too, for a person who looks for it
		default:
			if l.Tell != nil {
				l.Tell(w, of, line)
			}
		}
	}
	if l.stream != nil {
		l.stream.Write(w, run, kept)
	}
}

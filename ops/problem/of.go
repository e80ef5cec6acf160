package problem

import (
	"context"
	"errors"
	"net/http"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox"
)

// CodeDamaged: a part of the log is lost or cannot be read.
const CodeDamaged = "log.damaged"

// Of maps an error onto its problem document. An error that is not in the list is a fault of the engine: the status is
// 500, and only the engine's log has the text.
func Of(err error) *rpc.Problem {
	var known *rpc.Problem
	var refusal *decide.Refusal
	var missing *readmodel.NotFoundError
	var fault *sandbox.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		status := http.StatusUnprocessableEntity
		switch refusal.Kind {
		case decide.NotFound:
			status = http.StatusNotFound
		case decide.Conflict:
			status = http.StatusConflict
		case decide.TooMany:
			status = http.StatusTooManyRequests
		case decide.Invalid:
		}
		return rpc.Problemf(status, refusal.Code, "%s", refusal.Message).WithHint(explain.Hint(refusal.Hint))
	case errors.As(err, &missing):
		text := explain.Hint(hint.Of(hint.Workflows))
		if missing.What != "workflow" {
			text = "ids are case-sensitive; the lists show those there are"
		}
		return rpc.Problemf(http.StatusNotFound, missing.What+".unknown", "%v", missing).WithHint(text)
	case errors.Is(err, readmodel.ErrBadCursor):
		return rpc.Malformed("cursor.invalid", "%v", err).WithHint("start again without cursor")
	case errors.Is(err, eventlog.ErrTooLarge):
		return rpc.Problemf(http.StatusRequestEntityTooLarge, "transition.tooLarge", "%v; nothing was changed", err).
			WithHint("send less at once")
	case errors.Is(err, eventlog.ErrHeldFormat):
		return rpc.Problemf(http.StatusConflict, "format.held", "%v; nothing was changed", err).
			WithHint("once each node runs a version that reads it: pawl cluster upgrade")
	case errors.As(err, &fault) && fault.Fault == sandbox.FaultTransient:
		return rpc.Problemf(http.StatusServiceUnavailable, "worker.unavailable", "%v; nothing was changed", err).
			WithHint("try again; pawl workers shows the processes that read and run scripts").WithCause(err)
	case errors.Is(err, engine.ErrNoOwner):
		return rpc.Problemf(http.StatusServiceUnavailable, "partition.noOwner", "%v", err).
			WithHint("send it again in a moment: another engine takes the partition over").WithCause(err)
	case errors.Is(err, engine.ErrNoDiskSpace):
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			WithHint("nothing was recorded; send it again when there is disk space").WithCause(err)
	case errors.Is(err, engine.ErrNotRead):
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			WithHint("repeating it is safe, and says what it came to once this node has caught up").WithCause(err)
	case errors.Is(err, engine.ErrNothingRecorded):
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			WithHint("nothing was recorded; send it again in a moment").WithCause(err)
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, eventlog.ErrUnconfirmed),
		errors.Is(err, eventlog.ErrClosed),
		errors.Is(err, eventlog.ErrFull), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%v", err).
			WithHint("ask again in a moment; it may have been recorded nevertheless, repeating it is safe").WithCause(err)
	case replay.Damaged(err):
		return rpc.Problemf(http.StatusInternalServerError, CodeDamaged, "%v", err).
			WithHint("pawl verify says what is missing").WithCause(err)
	}
	return rpc.Problemf(http.StatusInternalServerError, "internal",
		"the engine could not carry this out; its log says why").WithCause(err).
		WithHint("look at the engine's own output: it names this operation and what went wrong")
}

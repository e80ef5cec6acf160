package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// MaxResult is the most bytes one call's result may have.
const MaxResult = 1 << 20

// PageBytes is the size at which a connector ends a page of a list: the rest of MaxResult is room for what is written
// around it.
const PageBytes = MaxResult * 3 / 4

// checkedOutcome makes an outcome storable without ever making it more certain than it was.
func checkedOutcome(out Outcome, call Call) Outcome {
	switch out.Status {
	case Applied:
		result, err := boundedResult(out.Result)
		if err != nil {
			return UncertainWith(Failf(eventlog.Internal, CodeAnswer,
				"connector %s said that %s was applied, with a result that is not JSON: %v", call.Connector,
				call.Operation, err))
		}
		return Outcome{Status: Applied, Result: result}
	case Failed:
		return FailedWith(repaired(out.Failure, call))
	default:
		return Outcome{Status: Uncertain, Failure: repaired(out.Failure, call), Answered: out.Answered,
			Relayed: out.Relayed}
	}
}

func checkedReconciliation(answer Reconciliation, call Call) Reconciliation {
	switch answer.Verdict {
	case VerdictApplied:
		result, err := boundedResult(answer.Result)
		if err != nil {
			return RetryWith(Failf(eventlog.Internal, CodeAnswer,
				"connector %s said that %s had been applied, with a result that is not JSON: %v", call.Connector,
				call.Operation, err))
		}
		return Reconciliation{Verdict: VerdictApplied, Result: result}
	case VerdictFailed:
		if answer.Failure == nil {
			answer.Failure = Failf(eventlog.Transient, CodeNotApplied, "%s.%s did not take effect", call.Connector,
				call.Operation)
		}
		return Reconciliation{Verdict: VerdictFailed, Failure: repaired(answer.Failure, call)}
	default:
		if answer.Failure != nil {
			answer.Failure = repaired(answer.Failure, call)
		}
		return Reconciliation{Verdict: VerdictRetry, Failure: answer.Failure}
	}
}

// boundedResult is cleanResult for an applied mutation: what is too big becomes a marker.
func boundedResult(raw json.RawMessage) (json.RawMessage, error) {
	result, err := cleanResult(raw)
	if err == nil && len(result) > MaxResult {
		return TruncatedResult(int64(len(result))), nil
	}
	return result, err
}

// TruncatedResult is the marker that stands for a result or parameters too big to keep: {"truncated":true,"bytes":N}.
func TruncatedResult(bytes int64) json.RawMessage {
	return fmt.Appendf(nil, `{"truncated":true,"bytes":%d}`, bytes)
}

var jsonNull = json.RawMessage("null")

// cleanResult returns the result as valid JSON and UTF-8; no result at all is null.
func cleanResult(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return jsonNull, nil
	}
	if !json.Valid(raw) {
		var ignored any
		return nil, json.Unmarshal(raw, &ignored) // says where
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return raw, nil
}

// readFailure gives a read's error its class: what the connector said, transient when time was
// over, else internal (F3).
func readFailure(ctx context.Context, call Call, err error) *eventlog.Failure {
	var failure *eventlog.Failure
	if errors.As(err, &failure) && failure != nil {
		return repaired(failure, call)
	}
	if ended := ContextFailure(ctx, call); ended != nil {
		return ended
	}
	return Failf(eventlog.Internal, CodeAnswer, "%s.%s failed: %v", call.Connector, call.Operation, err)
}

func panicked(p any, call Call) *eventlog.Failure {
	return Failf(eventlog.Internal, CodePanic, "connector %s panicked in %s: %v; please report this", call.Connector,
		call.Operation, p)
}

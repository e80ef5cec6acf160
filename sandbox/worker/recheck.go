package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// The engine does not trust a worker: a script that has broken out of its interpreter could send any
// frame. What a result may hold is checked again here, against the call; what it may not hold was
// refused inside the worker with a better message.

// maxDescribedFrame bounds a description.
const maxDescribedFrame = 8 << 20

// maxResultFrame bounds everything that one call may answer, with what JSON and frames add to it. Where mutate follows
// in the same call, both handlers answer.
func maxResultFrame(call *sandbox.Invocation) int {
	l := call.Limits
	most := 1<<20 + l.Result + l.State + 2*l.Publish + 2*l.Log + 256*l.HostCalls
	if call.Source.Counted {
		most += maxCount * len(call.Source.Code)
	}
	if call.ThenMutate {
		most *= 2
	}
	return most
}

// maxCount bounds what one count of a statement takes in a frame.
const maxCount = 32

// recheckAll rechecks how the call ended, and how the mutate after it ended.
func recheckAll(call *sandbox.Invocation, r *sandbox.Result, failed *sandbox.Error) error {
	if err := recheck(call, r, failed); err != nil || r.Mutate == nil {
		return err
	}
	if !call.ThenMutate || failed != nil {
		return fmt.Errorf("%w: a mutate that was not to be called", errMalformed)
	}
	then := call.Mutate()
	if r.Mutate.Failure != nil {
		r.Mutate.Failure.Cause = nil // it may not read, so no read of it has failed
	}
	return recheck(&then, &r.Mutate.Result, r.Mutate.Failure)
}

// recheck rechecks how one handler ended.
func recheck(call *sandbox.Invocation, r *sandbox.Result, failed *sandbox.Error) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
	}
	if failed != nil {
		switch failed.Fault {
		case sandbox.FaultScript, sandbox.FaultRead, sandbox.FaultTransient, sandbox.FaultInternal:
		default:
			return bad("the fault %.40q", failed.Fault)
		}
		failed.Clip()
		if r.Value != nil || r.Publishes != nil || r.Inputs != nil || r.Call != nil && !refused(r.Call, call.Limits,
			failed) {
			return bad("a failure with results")
		}
	}
	if r.Value != nil {
		limit := call.Limits.State
		if call.Phase == sandbox.Prepare {
			limit = call.Limits.Result
		}
		if call.Phase == sandbox.Mutate || len(r.Value) > limit || !json.Valid(r.Value) {
			return bad("a value that %s may not return", call.Phase)
		}
	}
	if c := r.Call; c != nil {
		operation := sandbox.Operation{Connector: c.Connector, Operation: c.Operation, Kind: sandbox.KindMutate}
		sendable := len(c.Params) > 0 && c.Params[0] == '{' && len(c.Params) <= call.Limits.Result &&
			json.Valid(c.Params) && c.Oversize == 0
		if call.Phase != sandbox.Mutate || !slices.Contains(call.Operations, operation) || failed == nil && !sendable {
			return bad("a mutation call that %s may not make", call.Phase)
		}
	}
	if len(r.Publishes) > call.Limits.HostCalls || len(r.Publishes) > 0 && !sandbox.MemberAllowed(call.Phase,
		sandbox.MemberPublish, false) {
		return bad("publishes in %s", call.Phase)
	}
	size := 0
	for i := range r.Publishes {
		p := &r.Publishes[i]
		if len(p.Topics) == 0 || sandbox.BadMessageID(p.MessageID) != "" || strings.TrimSpace(p.MessageID) == "" ||
			strings.TrimSpace(p.Title) == "" ||
			!json.Valid(p.Payload) || p.InputID != "" && call.Phase != sandbox.Producer {
			return bad("an event that cannot be published")
		}
		for _, topic := range p.Topics {
			if !slices.Contains(call.Topics, topic) {
				return bad("an event for another topic")
			}
		}
		size += p.Size()
	}
	if len(r.Inputs) > call.Limits.HostCalls || len(r.Inputs) > 0 && !sandbox.MemberAllowed(call.Phase,
		sandbox.MemberRegisterInput, false) {
		return bad("inputs in %s", call.Phase)
	}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		if in.ID != sandbox.InputID(in.Source, in.Type, in.ExtID) {
			return bad("an input with another's id")
		}
		size += len(in.Source) + len(in.Type) + len(in.ExtID) + len(in.Title)
	}
	if size > call.Limits.Publish {
		return bad("publishes of %d bytes", size)
	}
	logged := 0
	for i := range r.Logs {
		if !logLevels[r.Logs[i].Level] {
			return bad("a log line of level %.40q", r.Logs[i].Level)
		}
		logged += len(r.Logs[i].Text) + sandbox.LogLineCost
	}
	if logged > call.Limits.Log+1024 {
		return bad("a log of %d bytes", logged)
	}
	return nil
}

// refused reports whether the call is one whose parameters are too large: the one call that comes with a failure.
func refused(c *sandbox.MutationCall, limits sandbox.Limits, failed *sandbox.Error) bool {
	return c.Params == nil && c.Oversize > limits.Result && failed.Fault == sandbox.FaultScript &&
		failed.Code == "limit.result"
}

// logLevels are those that a script can write. The engine has levels of its own for what it notes beside them.
var logLevels = map[string]bool{"info": true, "warn": true, "error": true, "debug": true}

// recheckDescribed refuses a description that would take more memory than any script's: three bytes of JSON can
// stand for a problem of a hundred.
func recheckDescribed(d *described, l sandbox.Limits) error {
	if d.fault != nil {
		d.fault.Clip()
	}
	tokens := json.NewDecoder(bytes.NewReader(d.text))
	for n := 0; ; n++ {
		switch _, err := tokens.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: a description that is no JSON: %w", errMalformed, err)
		case n > maxDescribedTokens+l.Source:
			return fmt.Errorf("%w: a description of more than %d values", errMalformed, n)
		}
	}
}

// maxDescribedTokens is what the problems of a script take at most; its definition takes less than one for each
// byte of its text.
const maxDescribedTokens = 50_000

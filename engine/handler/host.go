package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// host answers one run's reads. It trusts nothing that comes from the script: the
// operation must be pinned, be a read, and be granted.
type host struct {
	caller *Caller
	state  *projections.State
	run    *projections.Run
	// origin and start say what the script's clock is at any moment: the engine's may stand still.
	origin, start time.Time
	phase         sandbox.Phase

	mu      sync.Mutex
	log     []sandbox.LogLine
	pending []eventlog.EventRef // see seenPending
	reads   []recording.Read    // of a call that is recorded
}

// maxLoggedCall bounds what is kept of one read's parameters and of its answer.
const maxLoggedCall = 2 << 10

func (h *host) note(began time.Time, capability string, params, answer json.RawMessage, err error) {
	text := fmt.Sprintf("%s(%s) after %s: ", capability, eventlog.Clip(params, maxLoggedCall),
		time.Since(began).Round(time.Microsecond))
	if err != nil {
		text += "failed: " + clip(err.Error())
	} else {
		text += eventlog.Clip(answer, maxLoggedCall)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, sandbox.LogLine{At: h.at(began), Level: LevelCall, Text: text})
}

// at is what the script's clock showed at a moment.
func (h *host) at(moment time.Time) time.Time { return h.origin.Add(moment.Sub(h.start)) }

func (h *host) calls() []sandbox.LogLine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log
}

// Read performs a list or get operation, or answers getByIds.
func (h *host) Read(
	ctx context.Context, connectorName, operation string, params json.RawMessage,
) (json.RawMessage, error) {
	answer, err := h.read(ctx, connectorName, operation, params)
	if h.recorded() {
		h.keep(connectorName, operation, params, answer, err)
	}
	return answer, err
}

func (h *host) read(ctx context.Context, connectorName, operation string, params json.RawMessage) (json.RawMessage,
	error) {
	if connectorName == sandbox.OwnConnector && operation == sandbox.GetByIDs {
		return h.getByIDs(ctx, params)
	}
	if connectorName == sandbox.OwnConnector && operation == sandbox.PeekAfter {
		return h.peekAfter(ctx, params)
	}
	op, ok := h.state.Script(h.run.Version).Definition.Operation(connectorName, operation)
	if !ok {
		return nil, failed(eventlog.Logic, "operation.unknown",
			connectorName+"."+operation+" was not pinned by this version's deploy")
	}
	if op.Kind == string(connector.Mutate) {
		return nil, failed(eventlog.Logic, "phase.forbidden",
			op.Capability()+" is a mutation; only mutate may call it")
	}
	if changed := deploy.Changed(h.caller.cfg.Connectors, op); changed != nil {
		return nil, changed
	}
	now := time.Now()
	call := connector.Call{
		Workflow: h.caller.name, Run: h.run.ID, Connector: connectorName, Operation: operation, Params: params,
		StartedAt: now, Deadline: now.Add(op.Timeout()),
	}
	// A host that redirects the read sends it to one that may be forbidden.
	call.Reach = func(host string) *eventlog.Failure {
		grants := h.caller.workflow.State().Grants
		if capability.GrantedAt(grants, connectorName, operation, host, false) == eventlog.GrantDeny {
			return capability.Denied(h.caller.name, connectorName, operation, host)
		}
		return nil
	}
	if denied := capability.DeniedSecret(h.caller.name, h.caller.workflow.State().Grants,
		h.caller.cfg.Connectors.Secrets(call)); denied != nil {
		return nil, denied
	}
	if denied := call.Reach(h.caller.cfg.Connectors.Host(call)); denied != nil {
		return nil, denied
	}
	ctx, cancel := context.WithTimeout(ctx, op.Timeout())
	defer cancel()
	answer, err := h.caller.cfg.Connectors.Read(ctx, call)
	h.note(now, op.Capability(), params, answer, err)
	return answer, err
}

// The levels of run log lines that the engine writes itself, beside those of the script.
const (
	LevelCall   = "call"   // a connector read: what was asked and answered
	LevelInputs = "inputs" // what a handler that failed was given, as JSON
)

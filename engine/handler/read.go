package handler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

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

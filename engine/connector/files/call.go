package files

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Read performs list, watch and read.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	var result any
	var failure *eventlog.Failure
	switch call.Operation {
	case "list":
		result, failure = c.list(ctx, call)
	case "watch":
		result, failure = c.watch(ctx, call)
	case "read":
		result, failure = c.read(call.Params)
	default:
		failure = c.dir.Fail(eventlog.Internal, "operation", "files.%s is not a read", call.Operation)
	}
	if failure != nil {
		return nil, failure
	}
	out, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the result of files.%s: %w", call.Operation, err)
	}
	return out, nil
}

// Perform writes or moves a file.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	switch call.Operation {
	case "write":
		return c.write(ctx, call)
	case "move":
		return c.move(ctx, call)
	}
	return connector.FailedWith(c.dir.Fail(eventlog.Internal, "operation", "files.%s is not a mutation", call.Operation))
}

// Reconcile says whether the file was written or moved. See the package comment for why its `failed` holds.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	if call.Operation == "move" {
		return c.reconcileMove(ctx, call)
	}
	return c.reconcileWrite(call)
}

// CallCheck refuses paths that lead out of the folder, and what cannot be written.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	switch call.Operation {
	case "write":
		_, _, failure := c.parseWrite(call)
		return failure
	case "move":
		_, failure := c.parseMove(call)
		return failure
	}
	p := struct {
		Path string `json:"path"`
	}{Path: "."}
	if err := json.Unmarshal(call.Params, &p); err != nil {
		return c.dir.Fail(eventlog.Logic, "params", "the parameters cannot be read: %v", err)
	}
	_, failure := c.dir.Clean(p.Path)
	return failure
}

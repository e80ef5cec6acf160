package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox/worker"
)

var workersTable = []Operation{
	define(operation("getWorkers", "GET /v1/workers", rpc.Viewer,
		"Show the processes that run scripts, and how they are confined"), getWorkers),
}

func getWorkers(_ context.Context, c *Call, _ *everything) (worker.Report, error) {
	if c.backend.cfg.Workers == nil {
		return worker.Report{}, rpc.Problemf(http.StatusNotFound, "workers.none", "this engine has no processes for scripts").
			WithHint("ask an engine that runs scripts")
	}
	return c.backend.cfg.Workers(), nil
}

package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

type pastRequest struct {
	inWorkflow
	At uint64 `json:"at" in:"query" jsonschema:"the revision, from 1 to the workflow's present one"`
}

var pastTable = []Operation{
	define(operation("glimpsePast", "GET /v1/workflows/{workflow}/past", rpc.Viewer,
		"Show what a workflow was at a revision, or how far the fold has come that leads there; ask again until it has").
		slow(), glimpsePast),
}

func glimpsePast(ctx context.Context, c *Call, r *pastRequest) (replay.Glimpse, error) {
	now, err := c.backend.state(r.Workflow)
	if err != nil {
		return replay.Glimpse{}, err
	}
	if r.At == 0 || r.At > now.Head.Revision {
		return replay.Glimpse{}, rpc.Problemf(http.StatusNotFound, "revision.unknown",
			"workflow %s has no revision %d; it has revisions 1 to %d", r.Workflow, r.At, now.Head.Revision).
			WithHint("the present is in the workflow itself and in its lists")
	}
	return c.backend.past.At(ctx, r.Workflow, r.At)
}

package ops

import (
	"context"
	"net/http"

	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/rpc"
)

var doctorTable = []Operation{
	define(operation("getHealthReport", "GET /v1/doctor", rpc.Admin,
		"Say what of this installation is not as it should be, each with a remedy").slow(), healthReport),
}

func healthReport(ctx context.Context, c *Call, _ *everything) (doctor.HealthReport, error) {
	if c.backend.cfg.Doctor == nil {
		return doctor.HealthReport{}, rpc.Problemf(http.StatusNotFound, "doctor.none", "this engine cannot look at itself").
			WithHint("ask an engine that pawl serve has started")
	}
	r := doctor.HealthReport{Findings: []doctor.Finding{}}
	c.backend.cfg.Doctor(ctx, &r)
	return r, nil
}

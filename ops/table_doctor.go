package ops

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
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
	if err := c.backend.examineHooks(ctx, &r); err != nil {
		return r, err
	}
	c.backend.examineSubscriptions(&r)
	return r, nil
}

// examineHooks looks for hooks that refuse every request.
func (b *backend) examineHooks(ctx context.Context, r *doctor.HealthReport) error {
	for name, err := range b.workflows(ctx) {
		if err != nil {
			return err
		}
		state, ok := b.cfg.Engine.State(name)
		if !ok {
			continue
		}
		for _, h := range b.hooks.Refusing(&state) {
			r.Advise("hooks", doctor.Problem,
				fmt.Sprintf("hook %s of workflow %s refuses every request: %s", h.Name, name, h.Because), cmp.Or(h.Grant, h.Remedy))
		}
	}
	return nil
}

// examineSubscriptions looks for webhooks that are not delivered.
func (b *backend) examineSubscriptions(r *doctor.HealthReport) {
	for _, s := range b.troubled() {
		says := fmt.Sprintf("subscription %s is %s", s.Name, s.State)
		if s.Since != 0 {
			says += " since " + s.Since.String()
		}
		if s.Error != nil {
			says += ": " + *s.Error
		}
		switch {
		case s.State != subscription.StateParked:
			r.Advise("subscriptions", doctor.Weak, says, "see to its receiver: it is tried by itself")
		default:
			r.Advise("subscriptions", doctor.Problem, says, strings.Join(s.Commands, ", or "))
		}
	}
}

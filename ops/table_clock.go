package ops

import (
	"context"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

type (
	advanceRequest struct {
		By string `json:"by" jsonschema:"how far, as in 90s, 5m or 24h; 0s only waits until everything has come to rest"`
	}
	clockAnswer struct {
		Now    eventlog.Instant `json:"now" jsonschema:"what schedules, waits and deadlines follow"`
		Manual bool             `json:"manual" jsonschema:"whether it stands still until it is advanced"`
	}
	advanceAnswer struct {
		Now eventlog.Instant `json:"now" jsonschema:"the clock's new time"`
	}
)

var clockTable = []Operation{
	define(operation("getClock", "GET /v1/clock", rpc.Viewer, "Read the engine's clock").narrowing(),
		func(_ context.Context, c *Call, _ *everything) (clockAnswer, error) {
			return clockAnswer{Now: eventlog.At(c.backend.cfg.Now()), Manual: c.backend.cfg.Engine.Manual()}, nil
		}),
	define(operation("advanceClock", "POST /v1/clock/advance", rpc.Operator,
		"Move a manual clock, stopping at each due moment, and answer once all is at rest").slow(), advanceClock),
}

func advanceClock(ctx context.Context, c *Call, r *advanceRequest) (advanceAnswer, error) {
	by, err := time.ParseDuration(r.By)
	if err != nil || by < 0 {
		return advanceAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "clock.invalid",
			"by is %q; it must be a duration of 0s or more: a clock never goes back", eventlog.ClipName(r.By)).
			WithHint("write e.g. 90s, 5m or 24h")
	}
	now, err := c.backend.cfg.Engine.Advance(ctx, by)
	if err != nil {
		return advanceAnswer{}, err
	}
	return advanceAnswer{Now: eventlog.At(now)}, nil
}

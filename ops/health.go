package ops

import (
	"context"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
)

// plainOperation is an operation outside of the table: it has no parameters, and answers also while the engine starts.
type plainOperation struct {
	rpc.Plain
	// answer is nil for an operation whose answer is no JSON: only HTTP offers it.
	answer func(*backend, context.Context) ([]byte, *rpc.Problem)
}

// describe answers with the OpenAPI document.
func (b *backend) describe(context.Context) ([]byte, *rpc.Problem) {
	document, err := b.openapi()
	if err != nil {
		return nil, b.fault("openapi", err)
	}
	return document, nil
}

// readyTimeout bounds the question to the log.
const readyTimeout = 2 * time.Second

type health struct {
	OK           bool   `json:"ok"`
	Version      string `json:"version"`
	Installation string `json:"installation"`
}

// healthz answers while the process can answer at all.
func (b *backend) healthz(context.Context) ([]byte, *rpc.Problem) {
	body, err := rpc.EncodeAnswer(health{OK: true, Version: b.cfg.Version, Installation: b.cfg.Installation})
	if err != nil {
		return nil, b.fault("health", err)
	}
	return body, nil
}

// lacking says why the engine begins nothing new; nil where it does.
func (b *backend) lacking() *rpc.Problem {
	means := "nothing new starts, and what is pushed is refused"
	if _, shares := b.cfg.Engine.Behind(); shares {
		means = "this node's partitions go to other nodes, and nothing new starts in those that no other one can take"
	}
	if err := b.cfg.Engine.DiskSpace(); err != nil {
		return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%s: %v", means, err).
			WithHint("work goes on by itself when there is disk space again")
	}
	if !b.cfg.Engine.Lacks().Holds() {
		return nil
	}
	return rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable", "%s: the local store cannot be written",
		means).WithHint("the engine's own output says what is wrong with its storage")
}

// readyz answers with success once every workflow is replayed, while the log answers, new work may start and the
// server is not stopping.
func (b *backend) readyz(ctx context.Context) ([]byte, *rpc.Problem) {
	select {
	case <-b.cfg.Engine.Ready():
	default:
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "engine.starting",
			"the engine is still reading its log").WithHint("ask again in a moment")
	}
	if b.life.Err() != nil {
		return nil, rpc.Stopping()
	}
	if p := b.lacking(); p != nil {
		return nil, p
	}
	if err := b.cfg.Engine.Outdated(); err != nil {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "format.newer",
			"this node owns no part of the log and follows none: %v", err).WithHint(explain.Hint(hint.Of(hint.Newer)))
	}
	if damage := b.cfg.Engine.Damage(); len(damage.Problems) > 0 {
		return nil, rpc.Problemf(http.StatusServiceUnavailable, "log.damaged",
			"the log is damaged; workflows that begin nothing new: %d", len(damage.Workflows)).
			WithHint("GET /v1/diagnostics lists what is damaged; pawl verify says the way out")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for p := range b.cfg.Log.Partitions() {
		if _, err := b.cfg.Log.Last(ctx, p); err != nil {
			return nil, rpc.Problemf(http.StatusServiceUnavailable, "storage.unavailable",
				"partition %d of the log does not answer", p).WithCause(err).
				WithHint("ask again in a moment; the engine's own output says what is wrong with its storage")
		}
	}
	return b.healthz(ctx)
}

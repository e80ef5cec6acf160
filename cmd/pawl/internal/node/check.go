package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/engine"
)

// checkWait is how long an engine that ends when it is idle waits for the check of its log.
const checkWait = 10 * time.Second

// logCheck reads the whole log while the engine works.
type logCheck struct {
	engine *engine.Engine
	logger *slog.Logger
	done   chan struct{} // closed when the check has ended
}

// start begins the check as soon as the engine is ready. The function it returns ends the check.
func (c *logCheck) start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		_ = c.engine.CheckLog(ctx) // it fails only when ctx has ended
	}()
	return func() {
		cancel()
		<-c.done
	}
}

// await hurries the check and waits for it: where the engine ends once it is idle, damage must show in its exit code.
func (c *logCheck) await(ctx context.Context) {
	c.engine.HurryCheck()
	timer := time.NewTimer(checkWait)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-timer.C:
		c.logger.Warn("this run ends before the whole log was checked for damage; pawl verify checks it",
			"after", checkWait)
	}
}

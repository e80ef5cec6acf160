package node

import (
	"context"
	"time"
)

// checkPatience is how long an engine that ends when it is idle waits for the check of its log.
const checkPatience = 10 * time.Second

// checkLog reads the whole log beside the work, as soon as the engine is ready. The function it returns ends
// that.
func (in *Node) checkLog(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	in.checked = make(chan struct{})
	go func() {
		defer close(in.checked)
		_ = in.Engine.CheckLog(ctx) // it fails only once it is ended
	}()
	return func() {
		cancel()
		<-in.checked
	}
}

// awaitCheck waits for the check where the engine ends once it is idle: damage must show in its exit code.
func (in *Node) awaitCheck(ctx context.Context) {
	if !in.Settings.UntilIdle {
		return
	}
	in.Engine.HurryCheck()
	patience := time.NewTimer(checkPatience)
	defer patience.Stop()
	select {
	case <-in.checked:
	case <-ctx.Done():
	case <-patience.C:
		in.logger.Warn("this run ends before the whole log was checked for damage; pawl verify checks it", "after", checkPatience)
	}
}

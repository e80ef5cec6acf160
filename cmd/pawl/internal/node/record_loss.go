package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// recordLoss records the loss of which result names the parts, and adds to result what it came to.
func recordLoss(ctx context.Context, d *Data, result *Accepted, lost loss.Loss) error {
	clock, err := newClock(ctx, d.Settings, d.Log)
	if err != nil {
		return exit.Failed("", err)
	}
	lost.At, lost.Detail = eventlog.At(clock.Now()), term.OneLine(strings.Join(result.Lost, "; "), 2000)
	pasts, err := loss.Record(ctx, d.Log, lost)
	if err != nil {
		return exit.Failed("nothing runs before this is done: pawl verify --accept-loss again", err)
	}
	for _, past := range pasts {
		result.add(past)
	}
	return nil
}

// startEpochs makes what the local store knows of these partitions worthless, and every other note of
// their positions: sequences after a lost end are used again.
func startEpochs(ctx context.Context, log *jslog.Log, ahead []loss.Ahead) error {
	for _, one := range ahead {
		if _, err := log.SetAside(ctx, one.Partition, nil); err != nil {
			return exit.Failed("", fmt.Errorf("accept the loss: %w", err))
		}
	}
	return nil
}

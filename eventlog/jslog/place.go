package jslog

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// CheckPlace implements eventlog.PlaceChecker. In a cluster a leader that was deposed and does not know it yet may lack
// what is there: it is asked again for as long as that can last.
func (l *Log) CheckPlace(ctx context.Context, p int, seq uint64, hash eventlog.Hash) error {
	if err := l.usable(p); err != nil {
		return err
	}
	for missing := (failures{least: l.patience}); ; {
		m, err := l.fetchAgain(ctx, p, query{Seq: seq})
		switch {
		case err == nil && eventlog.HashOf(m.Data) == hash:
			return nil
		case err == nil:
			return fmt.Errorf("%w: stream %s: message %d is not the one that this engine has read there before",
				eventlog.ErrDamaged, l.names.stream(p), seq)
		case !isMessageNotFound(err):
			return fmt.Errorf("look for message %d of partition %d: %w", seq, p, err)
		}
		if missing.failed(); missing.over(1) {
			return fmt.Errorf("%w: stream %s lacks message %d, which this engine has read there before",
				eventlog.ErrDamaged, l.names.stream(p), seq)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("look for message %d of partition %d: %w", seq, p, context.Cause(ctx))
		case <-time.After(apiPause):
		}
	}
}

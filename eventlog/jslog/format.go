package jslog

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// format is whether a partition's stream is known to say that it holds the newest format.
type format struct {
	raising sync.Mutex
	raised  bool
}

// raiseFormat makes the partition's stream say that it holds what an older version does not know, before
// the first such message is written: an older one then refuses the log by its format, and does not take
// that message for damage.
func (l *Log) raiseFormat(ctx context.Context, p int) error {
	f := &l.partitions[p].format
	f.raising.Lock()
	defer f.raising.Unlock()
	if f.raised {
		return nil
	}
	want := strconv.Itoa(eventlog.FormatVersion)
	err := l.retry(ctx, func() error {
		info, err := l.info(ctx, l.names.stream(p))
		if err != nil || info.Config.Metadata[metaFormat] == want {
			return err
		}
		cfg := info.Config
		cfg.Metadata = maps.Clone(cfg.Metadata)
		cfg.Metadata[metaFormat] = want
		_, err = l.js.UpdateStream(ctx, cfg)
		return err
	})
	if err != nil {
		// Nothing of the entry was handed to the stream, or an earlier try has raised the format already.
		return fmt.Errorf("%w: say that the log has format %s: %w", eventlog.ErrUnconfirmed, want, err)
	}
	f.raised = true
	return nil
}

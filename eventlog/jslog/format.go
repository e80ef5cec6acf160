package jslog

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// format is the format that a partition's stream is known to say, 0 while that was not asked.
type format struct {
	raising sync.Mutex
	known   int
}

// raiseFormat makes the partition's stream say that it holds what an older version does not know, before
// the first such message is written: an older one then refuses the log by its format, and does not take
// that message for damage. It never lowers what the stream says.
func (l *Log) raiseFormat(ctx context.Context, p, want int) error {
	f := &l.partitions[p].format
	f.raising.Lock()
	defer f.raising.Unlock()
	if want <= f.known {
		return nil
	}
	says := 0
	err := l.retry(ctx, func() error {
		info, err := l.info(ctx, l.names.stream(p))
		if err != nil {
			return err
		}
		cfg := info.Config
		// What cannot be read as a number was refused when the log was opened.
		if says, err = strconv.Atoi(cfg.Metadata[metaFormat]); err != nil || says >= want {
			return err
		}
		cfg.Metadata = maps.Clone(cfg.Metadata)
		cfg.Metadata[metaFormat] = strconv.Itoa(want)
		_, err = l.js.UpdateStream(ctx, cfg)
		return err
	})
	if err != nil {
		// Nothing of the entry was handed to the stream, or an earlier try has raised the format already.
		return fmt.Errorf("%w: say that the log has format %d: %w", eventlog.ErrUnconfirmed, want, err)
	}
	f.known = max(want, says)
	return nil
}

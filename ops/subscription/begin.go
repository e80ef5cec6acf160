package subscription

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// beginAttempt bounds one attempt to store where a subscription begins.
const beginAttempt = 500 * time.Millisecond

// begin stores where a new subscription begins. Where the log has lost its end behind the beginning of an older one,
// that one begins at the new end: what this engine records there takes the places of what was lost.
func (d *delivery) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beginAttempt)
	defer cancel()
	store, err := openPositions(ctx, *d.cfg, d.js)
	if err != nil {
		return err
	}
	at, stream, err := d.position(ctx, store)
	if err != nil {
		return err
	}
	if lowest(at.Begin, d.Begin) == at.Begin {
		return nil
	}
	d.storing.Lock()
	defer d.storing.Unlock()
	at, err = store.change(ctx, d.Name, func(at *position) error {
		at.Begin = lowest(at.Begin, d.Begin)
		if at.ID != "" {
			return nil
		}
		at.Next, err = beginning(ctx, stream, at.Begin)
		return err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	return nil
}

// beginning is the sequence of the first message that may hold a fact behind the positions in begin, and that of the
// next message for a stream without facts of a log. Messages are looked at from the last one back: few engines publish
// much between the moment in which begin was read and this one.
func beginning(ctx context.Context, stream jetstream.Stream, begin string) (uint64, error) {
	if stream == nil {
		return 1, nil
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the state of stream %s: %w", stream.CachedInfo().Config.Name, err)
	}
	next := info.State.LastSeq + 1
	for begin != "" && next > max(info.State.FirstSeq, 1) {
		m, err := messageAt(ctx, stream, next-1)
		if err != nil {
			return 0, err
		}
		if m != nil {
			if through := m.Header.Get("pawl-positions"); through != "" && reached(begin, through) {
				break
			}
		}
		next--
	}
	return next, nil
}

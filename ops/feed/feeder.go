package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/prometheus/client_golang/prometheus"
)

// New checks the configuration and prepares a feeder; Run starts it.
func New(cfg Config) (*Feeder, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(cfg.Conn, jetstream.WithDefaultTimeout(cfg.AckTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the feed: %w", err)
	}
	f := &Feeder{cfg: cfg, js: js, writer: newWriter(cfg), backlog: newBacklog(cfg.Log.Partitions())}
	f.figures = newFigures(f.backlog.lag, cfg.Log.Partitions())
	return f, nil
}

// Observe gives the feeder a transition that the log holds. It does not block. A transition that is never observed is
// read from the log a little later.
func (f *Feeder) Observe(r eventlog.Record) { f.backlog.add(r, time.Now()) }

// Run publishes until ctx ends or the log is closed. After a failure it tries again.
func (f *Feeder) Run(ctx context.Context) {
	pause, warned := f.cfg.Pause, ""
	for {
		before := f.published.Load()
		err := f.publishUntil(ctx)
		if ctx.Err() != nil || errors.Is(err, eventlog.ErrClosed) {
			return
		}
		f.figures.failures.Inc()
		if f.published.Load() > before {
			pause, warned = f.cfg.Pause, ""
		}
		if err.Error() != warned {
			warned = err.Error()
			f.cfg.Logger.Warn("the feed cannot publish; it tries again and goes on where it stopped", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*f.cfg.Pause)
	}
}

// publishUntil finds where to go on, and publishes from there until something fails.
func (f *Feeder) publishUntil(ctx context.Context) error {
	stream, err := f.openStream(ctx)
	if err != nil {
		return err
	}
	from, err := f.resume(ctx, stream)
	if err != nil {
		return err
	}
	ends := make([]uint64, len(from.done))
	for p := range ends {
		if ends[p], err = f.cfg.Log.Last(ctx, p); err != nil {
			return err
		}
	}
	p, err := newPublisher(f, from)
	if err != nil {
		return err
	}
	defer p.close()
	f.backlog.begin(from.next(), ends)
	for partition := range from.done {
		if err := p.readLog(ctx, partition); err != nil {
			return err
		}
	}
	return p.follow(ctx)
}

// Await returns once every observed transition is published, or with ctx's error.
func (f *Feeder) Await(ctx context.Context) error {
	for {
		progress := f.backlog.outstanding()
		if progress == nil {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Figures are the feed's metrics, to be registered.
func (f *Feeder) Figures() prometheus.Collector { return f.figures }

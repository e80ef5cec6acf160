package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/ids"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/engine/underway"
)

// process is what all workflows of an engine share: the configuration, the counts of what is under way, and the ends
// of what may be waited for. It knows none of the workflows.
//
// Locking: none but that of its parts. What is not atomic, a lock or a context is set before the engine runs.
type process struct {
	cfg Config
	log *slog.Logger
	ids *ids.Source
	// name is this process incarnation: a run started by another one is crashed (R14).
	name       string
	draining   atomic.Bool
	closed     atomic.Bool
	calls      signal.InFlight // mutation calls that have left and are within their deadline
	outcomes   signal.InFlight // their settlements, until they are recorded
	recordings signal.InFlight // decisions on their way into the log, whose callers may be gone
	// idle tells when a runner comes to rest or a recording ends.
	idle signal.Change
	// handlers is what the callers of handlers share.
	handlers handler.Config
	atWork   atomic.Int64 // runners that do not rest
	appends  meanDuration
	lags     []*checkpoint.Lag // by partition

	// writable ends, with the cause, once the log cannot be written any more.
	writable context.Context
	fail     context.CancelCauseFunc
	// life ends when the process gives up: settlements, and appends whose answer is not known, are retried
	// until then.
	life    context.Context
	endLife context.CancelFunc
}

func newProcess(cfg Config) *process {
	p := &process{cfg: cfg, log: cfg.Logger, ids: ids.New(cfg.Random)}
	if p.name = p.ids.Next(cfg.Clock.Now()); cfg.Leases != nil {
		p.name = cfg.Leases.Engine()
	}
	p.life, p.endLife = context.WithCancel(context.Background())
	p.writable, p.fail = context.WithCancelCause(context.Background())
	p.handlers = handler.Config{
		Scripts: cfg.Scripts, Connectors: cfg.Connectors, Clock: cfg.Clock, Jitter: cfg.Jitter, Policies: cfg.Policies,
		RunLog: cfg.RunLog, Recordings: cfg.Recordings, DiskSpace: p.diskSpace, Pinned: &connector.Pinned{}, Vars: cfg.Vars,
	}
	for range cfg.Log.Partitions() {
		p.lags = append(p.lags, &checkpoint.Lag{})
	}
	return p
}

var (
	// resendPauses are the pauses between two attempts to append the same entry.
	resendPauses = schedule.Transient{Base: 50 * time.Millisecond, Factor: 2, Max: time.Second}
	// storagePauses are the pauses of a runner that cannot read or write what it needs.
	storagePauses = schedule.Transient{Base: 100 * time.Millisecond, Factor: 2, Max: 30 * time.Second}
)

// moment is now, by both clocks.
func (p *process) moment() underway.Moment {
	now := p.cfg.Clock.Now()
	switch c := p.cfg.Clock.(type) {
	case clock.System:
		return underway.At(now)
	case interface{ Elapsed() time.Duration }: // it can be set, and says what cannot
		return underway.Moment{Clock: now, Elapsed: c.Elapsed()}
	}
	return underway.AtMadeUp(now)
}

// hold reports why no run may start now.
func (p *process) hold() error {
	if p.draining.Load() {
		return errors.New("the engine is shutting down")
	}
	if err := errors.Join(p.cfg.Store.Err(), p.diskSpace()); err != nil {
		return fmt.Errorf("start a run: %w", err)
	}
	for _, lag := range p.lags {
		if err := lag.Stuck(); err != nil {
			return fmt.Errorf("start a run: %w", err)
		}
	}
	return nil
}

// diskSpace reports why no new work may start now (too little disk space); nil when there is enough.
func (p *process) diskSpace() error {
	if p.cfg.DiskSpace == nil {
		return nil
	}
	return p.cfg.DiskSpace()
}

// meanDuration is how long something takes lately.
type meanDuration struct{ mean atomic.Int64 }

// observe takes a duration in.
func (p *meanDuration) observe(d time.Duration) {
	mean := p.mean.Load()
	p.mean.Store(mean + (int64(d)-mean)/16) // a lost update is one duration less, which is no harm
}

// value returns the mean of the last few durations.
func (p *meanDuration) value() time.Duration { return time.Duration(p.mean.Load()) }

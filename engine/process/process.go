package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/engine/ids"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/signal"
	"github.com/pawl-run/pawl/engine/underway"
)

// Process is what all workflows of an engine share: the configuration, the counts of what is under way, and the signals
// that callers wait for. It knows none of the workflows.
//
// Locking: none of its own. Its atomic fields and its parts lock themselves; all other fields are set before the engine
// runs.
type Process struct {
	Config Config
	Log    *slog.Logger
	IDs    *ids.Source
	// Name is this process incarnation: a run started by another one is crashed (R14).
	Name      string
	Draining  atomic.Bool
	Closed    atomic.Bool
	Calls     signal.InFlight // mutation calls that have left and are within their deadline
	Outcomes  signal.InFlight // results of calls that are not recorded yet
	Decisions signal.InFlight // decisions that are being appended; their callers may have left
	// Goroutines record decisions and make mutation calls.
	Goroutines *Goroutines
	// Idle tells when a runner comes to rest or a recording ends.
	Idle signal.Change
	// Handlers is what the callers of handlers share.
	Handlers handler.Config
	AtWork   atomic.Int64 // runners that do not rest
	Appends  meanDuration
	Lags     []*checkpoint.Lag // by partition

	// Writable ends, with the cause, once the log cannot be written any more.
	Writable context.Context
	Fail     context.CancelCauseFunc
	// Readable ends, with the cause, once the log has a newer format than this version reads. Outdate ends it.
	Readable context.Context
	Outdate  context.CancelCauseFunc
	// Life ends when the process gives up: settlements, and appends whose answer is not known, are retried
	// until then.
	Life    context.Context
	EndLife context.CancelFunc
}

// New starts the life of an engine of a valid configuration.
func New(cfg Config) *Process {
	p := &Process{Config: cfg, Log: cfg.Logger, IDs: ids.New(cfg.Random), Goroutines: NewGoroutines()}
	if p.Name = p.IDs.Next(cfg.Clock.Now()); cfg.Leases != nil {
		p.Name = cfg.Leases.Engine()
	}
	p.Life, p.EndLife = context.WithCancel(context.Background())
	p.Writable, p.Fail = context.WithCancelCause(context.Background())
	p.Readable, p.Outdate = context.WithCancelCause(context.Background())
	p.Handlers = handler.Config{
		Scripts: cfg.Scripts, Connectors: cfg.Connectors, Clock: cfg.Clock, Jitter: cfg.Jitter, Policies: cfg.Policies,
		RunLog: cfg.RunLog, Recordings: cfg.Recordings, DiskSpace: p.DiskSpace, Vars: cfg.Vars,
	}
	for range cfg.Log.Partitions() {
		p.Lags = append(p.Lags, &checkpoint.Lag{})
	}
	return p
}

var (
	// ResendPauses are the pauses between two attempts to append the same entry.
	ResendPauses = schedule.Transient{Base: 50 * time.Millisecond, Factor: 2, Max: time.Second}
	// StoragePauses are the pauses of a runner that cannot read or write what it needs.
	StoragePauses = schedule.Transient{Base: 100 * time.Millisecond, Factor: 2, Max: 30 * time.Second}
)

// Moment is now, by both clocks.
func (p *Process) Moment() underway.Moment {
	now := p.Config.Clock.Now()
	switch c := p.Config.Clock.(type) {
	case clock.System:
		return underway.At(now)
	case interface{ Elapsed() time.Duration }: // it can be set, and says what cannot
		return underway.Moment{Clock: now, Elapsed: c.Elapsed()}
	}
	return underway.AtMadeUp(now)
}

// Standstill reports why no run may start now.
func (p *Process) Standstill() error {
	if p.Draining.Load() {
		return errors.New("the engine is shutting down")
	}
	if _, err := p.Shortage(); err != nil {
		return fmt.Errorf("start a run: %w", err)
	}
	return nil
}

// Shortage is what this engine lacks to begin anything, and reports why; empty and nil where it lacks nothing.
func (p *Process) Shortage() (lease.Shortage, error) {
	if err := p.DiskSpace(); err != nil {
		return lease.LacksDiskSpace, err
	}
	if err := p.Config.Store.Err(); err != nil {
		return lease.LacksStore, err
	}
	for _, lag := range p.Lags {
		if err := lag.Stuck(); err != nil {
			return lease.LacksStore, err
		}
	}
	return "", nil
}

// DiskSpace reports why no new work may start now (too little disk space); nil when there is enough.
func (p *Process) DiskSpace() error {
	if p.Config.DiskSpace == nil {
		return nil
	}
	return p.Config.DiskSpace()
}

// meanDuration is how long something takes lately.
type meanDuration struct{ mean atomic.Int64 }

// Observe takes a duration in.
func (p *meanDuration) Observe(d time.Duration) {
	mean := p.mean.Load()
	p.mean.Store(mean + (int64(d)-mean)/16) // a lost update is one duration less, which is no harm
}

// Value returns the mean of the last few durations.
func (p *meanDuration) Value() time.Duration { return time.Duration(p.mean.Load()) }

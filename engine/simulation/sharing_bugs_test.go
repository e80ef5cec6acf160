package simulation_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation"
	"github.com/pawl-run/pawl/eventlog"
)

// TestBugsOfSharingAreFound breaks what engines share the partitions with in one way each, and expects the simulation
// to notice.
func TestBugsOfSharingAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its bugs check the simulation, not the engine")
	}
	t.Parallel()
	for _, bug := range []struct {
		name string
		// sign is in the message of some seed's violation.
		sign string
		// from is a seed before one that finds it, so that the test does not take long.
		from uint64
		cfg  simulation.Config
	}{
		{"the first byte leaves without a look at the lease", "does not hold its partition", 10,
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return headlong{c} }}},
		{"a clock that stands still with its process", "does not hold its partition", 48,
			simulation.Config{Leases: stoppedClock}},
		{"a clock that runs too fast", "while", 0,
			simulation.Config{Leases: hurriedClock}},
		{"another process's call taken as over at once", "may still be busy with it", 180,
			simulation.Config{Decide: overAtOnce}},
		{"append without a fence", "fold", 0,
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return unfenced{l} }}},
		{"a follower that passes over a record", "has not read revision", 0,
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return forgetfulWatch{l} }}},
		{"an owner that answers before it has recorded", "was acknowledged and is not in the log", 0,
			simulation.Config{Peers: func(p engine.Peers) engine.Peers { return &promising{Peers: p} }}},
		{"a read that does not wait for what its client has seen", "reads it from engine", 0,
			simulation.Config{After: func(at eventlog.Position) eventlog.Position {
				at.Seq = 0
				return at
			}}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			cfg := bug.cfg
			cfg.Focus = simulation.Sharing
			mustFind(t, cfg, bug.sign, bug.from+1, 400)
		})
	}
}

// headlong asks nothing before the first byte.
type headlong struct{ outside }

func (c headlong) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	call.Gate = nil
	return c.outside.Perform(ctx, call)
}

// stoppedClock is one that does not run while its process stands still.
func stoppedClock(c lease.Config) lease.Config {
	elapsed := c.Elapsed
	var mu sync.Mutex
	var last, now time.Duration
	c.Elapsed = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		at := elapsed()
		now += min(at-last, 3*time.Second) // it is read every two seconds
		last = at
		return now
	}
	return c
}

// hurriedClock is one that runs nearly twice as fast.
func hurriedClock(c lease.Config) lease.Config {
	elapsed := c.Elapsed
	c.Elapsed = func() time.Duration { return elapsed() * 19 / 10 }
	return c
}

// forgetfulWatch passes over one record in twenty.
type forgetfulWatch struct{ eventlog.Log }

func (l forgetfulWatch) Watch(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range l.Log.Watch(ctx, partition, from) {
			if err == nil && r.Position.Seq%20 == 0 {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// promising answers a request that got no answer as the one before.
type promising struct {
	engine.Peers
	mu   sync.Mutex
	last []byte
}

func (p *promising) Ask(ctx context.Context, partition int, epoch uint64, request []byte) ([]byte, error) {
	text, err := p.Peers.Ask(ctx, partition, epoch, request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.last = text
	} else if p.last != nil {
		return p.last, nil
	}
	return text, err
}

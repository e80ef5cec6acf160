package engine

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/checkpoint"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// An engine that hands a partition over has read all of it until then: it is not behind by the time for which it has
// owned it.
func TestAnEngineThatHandsAPartitionOverIsNotBehind(t *testing.T) {
	t.Parallel()
	p := &partition{process: &process.Process{Config: Config{Leases: &lease.Keeper{}}}}
	p.freshAt.Store(int64(clock.Elapsed() - time.Hour)) // then it has taken the partition
	p.owned.Store(&process.Tenure{})
	ctx, end := context.WithCancel(t.Context())
	end() // it looks once
	p.watchHead(ctx)
	p.owned.Store(nil)
	if behind := p.behindBy(); behind != 0 {
		t.Errorf("right after it has handed the partition over it is behind by %s", behind)
	}
}

// What a damaged partition has not read is not waited for: it reads no more.
func TestADamagedPartitionIsNotAwaited(t *testing.T) {
	t.Parallel()
	p := &partition{process: &process.Process{Readable: t.Context()}}
	p.stopped.Store(&eventlog.ErrDamaged)
	if err := p.await(t.Context(), 1); !errors.Is(err, eventlog.ErrDamaged) {
		t.Error(err)
	}
}

// A partition that was not read in time has the engine lack records; one that is damaged keeps no other one from it.
func TestWhatADamagedPartitionLacks(t *testing.T) {
	t.Parallel()
	p := &partition{}
	p.stalled.Store(true)
	if !p.lacksRecords() {
		t.Error("it lacks nothing")
	}
	p.stopped.Store(&eventlog.ErrDamaged)
	if p.lacksRecords() {
		t.Error("it is damaged, and lacks records")
	}
}

// An engine that was given a partition and reads on does not stand still, also where it reads the tails of single
// workflows, which lie beyond what it has dealt with. Once it reads nothing for a time, another engine gets it.
func TestReadingTailsIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPartition(&Engine{process: &process.Process{Config: Config{Log: memlog.New(memlog.Config{})},
			Lags: []*checkpoint.Lag{{}}}}, 0)
		ctx, stop := p.whileReading(t.Context())
		defer stop()
		for seq := range uint64(9) {
			p.passed(&aggregate{name: "w"}, eventlog.Record{Position: eventlog.Position{Seq: 10 + seq}}, errors.New("stopped"))
			<-time.After(stallTimeout * 3 / 4) // in the time of the bubble
			if ctx.Err() != nil {
				t.Fatal("it is taken to stand still while it reads")
			}
		}
		<-time.After(stallTimeout / 2)
		if err := context.Cause(ctx); !errors.Is(err, errStalled) {
			t.Errorf("it reads nothing any more, and goes on: %v", err)
		}
	})
}

// unwatched is a log that cannot be watched until a time.
type unwatched struct {
	eventlog.Log
	until time.Time
	late  time.Duration // how long after that it was watched
}

func (l *unwatched) Watch(ctx context.Context, _ int, _ uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		if time.Now().Before(l.until) {
			yield(eventlog.Record{}, errors.New("cannot be read"))
			return
		}
		l.late = time.Since(l.until)
		<-ctx.Done()
	}
}

// After a long outage an engine follows a partition again within seconds: it may be given the lease at any time.
func TestAPartitionIsFollowedSoonAfterALongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &unwatched{until: time.Now().Add(time.Hour), late: -1}
		p := &partition{process: &process.Process{Config: Config{Log: log}, Log: slog.New(slog.DiscardHandler)}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // in the time of the bubble
		defer cancel()
		p.follow(ctx)
		if log.late < 0 || log.late > 10*time.Second {
			t.Errorf("it is followed %s after it can be", log.late)
		}
	})
}

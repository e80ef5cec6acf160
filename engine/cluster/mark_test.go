package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// shortened is a log whose leader lacks what stands after a sequence.
type shortened struct {
	*memlog.Log
	last uint64
}

func (l shortened) Last(context.Context, int) (uint64, error) { return l.last, nil }

func (l shortened) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.cut(l.Log.Read(ctx, p, from))
}

func (l shortened) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.cut(l.Log.Watch(ctx, p, from))
}

func (l shortened) cut(all iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range all {
			if r.Position.Seq <= l.last && !yield(r, err) {
				return
			}
		}
	}
}

func (l shortened) CheckPlace(ctx context.Context, p int, seq uint64, hash eventlog.Hash) error {
	if seq > l.last {
		return fmt.Errorf("%w: message %d is missing", eventlog.ErrDamaged, seq)
	}
	return l.Log.CheckPlace(ctx, p, seq, hash)
}

// startOn starts an engine on the log, alone on its node.
func startOn(t *testing.T, between *network.Network, number int, log eventlog.Log) *enginetest.Engine {
	e, _ := startWith(t, between, number, log, nil)
	return e
}

// startWith is startOn for an engine with duties.
func startWith(t *testing.T, between *network.Network, number int, log eventlog.Log,
	duties func(context.Context), changes ...func(*engine.Config)) (*enginetest.Engine, *network.Link) {
	link := between.Join(number)
	leases, err := lease.New(lease.Config{Bucket: link, Partitions: 1, Node: fmt.Sprintf("n%d", number),
		Elapsed: link.Elapsed, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := enginetest.NewOn(t, log)
	h.Config = engine.Config{Leases: leases, Peers: link, DrainTimeout: time.Second, Duties: duties}
	for _, change := range changes {
		change(&h.Config)
	}
	return h.Start(), link
}

// The node that knew what was acknowledged is gone with its store and its mark; what it has left in the bucket keeps an
// engine that is new from running a log which lacks some of that.
func TestTheMarkOutlivesItsNode(t *testing.T) {
	t.Parallel()
	for name, lacking := range map[string]uint64{"all is there": 0, "the end is missing": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
				a := startOn(t, between, 1, log)
				result, err := a.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{
					Source: strings.Replace(orders, "NAME", "w", 1), Filename: "w.js", GrantUsed: true})
				if err != nil || result.Refused {
					t.Fatalf("deploy: %v, %+v", err, result.Problems)
				}
				<-time.After(3 * time.Second) // in the time of the bubble: the mark is raised
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				last, err := log.Last(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				b := startOn(t, between, 2, shortened{log, last - lacking})
				<-time.After(30 * time.Second) // in the time of the bubble: the partition is taken, or is not
				p := b.Partitions()[0]
				if stopped := errors.Is(p.Stopped, eventlog.ErrDamaged); stopped != (lacking > 0) || p.Owned == stopped {
					t.Errorf("owned: %t, stopped: %v", p.Owned, p.Stopped)
				}
				if lacking > 0 && p.Stopped != nil && !strings.Contains(p.Stopped.Error(), "node n1 has noted message") {
					t.Errorf("it says %q", p.Stopped)
				}
			})
		})
	}
}

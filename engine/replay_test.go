package engine_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// readLog notes from where each partition is read, and calls partitions by other names.
type readLog struct {
	*memlog.Log
	names map[int]string

	mu   sync.Mutex
	from map[int]uint64 // the smallest
}

func (l *readLog) Identity(p int) string { return l.Log.Identity(p) + l.names[p] }

func (l *readLog) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	l.mu.Lock()
	if old, ok := l.from[p]; !ok || from < old {
		l.from[p] = from
	}
	l.mu.Unlock()
	return l.Log.Read(ctx, p, from)
}

// brokenStore is damaged where it keeps the workflows of a partition, until it is reset.
type brokenStore struct {
	*store.Store
	partition int
	reset     bool
}

func (s *brokenStore) Workflows(p int) ([]eventlog.WorkflowName, error) {
	if p == s.partition && !s.reset {
		return nil, store.ErrDamaged
	}
	return s.Store.Workflows(p)
}

func (s *brokenStore) Reset() error {
	s.reset = true
	return s.Store.Reset()
}

// Two partitions share a store. What is wrong with one of them in it is mended without a loss of what is kept of the
// other: a partition of another log is read anew alone, and of a damaged store all of them are.
func TestReplayOfOnePartitionKeepsTheOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names  map[int]string
		broken int // partition
		anew   [2]bool
	}{
		"as it was":         {broken: -1},
		"another first":     {names: map[int]string{0: " of another log"}, broken: -1, anew: [2]bool{true, false}},
		"another second":    {names: map[int]string{1: " of another log"}, broken: -1, anew: [2]bool{false, true}},
		"another log":       {names: map[int]string{0: "x", 1: "x"}, broken: -1, anew: [2]bool{true, true}},
		"damaged in second": {broken: 1, anew: [2]bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &readLog{Log: memlog.New(memlog.Config{Partitions: 2}), from: map[int]uint64{}}
			b := enginetest.NewOn(t, log)
			workflows := [2]eventlog.WorkflowName{}
			for i := 0; workflows[0] == "" || workflows[1] == ""; i++ {
				w := eventlog.WorkflowName(fmt.Sprint("orders", i))
				workflows[log.PartitionOf(w)] = w
			}
			e := b.Start()
			for _, w := range workflows {
				e.MustDeploy(strings.Replace(ordersWorkflow, `name: "orders"`, `name: "`+string(w)+`"`, 1))
				e.MustPush(w, "order.in", "a", "b")
				e.Rest(w)
			}
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			log.names, log.from = c.names, map[int]uint64{}
			if c.broken >= 0 {
				b.Wrap = func(s *store.Store) engine.Store { return &brokenStore{Store: s, partition: c.broken} }
			}
			e = b.Start()
			for p, w := range workflows {
				if anew := log.from[p] == 1; anew != c.anew[p] {
					t.Errorf("partition %d is read from %d, anew: want %t", p, log.from[p], c.anew[p])
				}
				e.MustPush(w, "order.in", "a", "c") // a is known from before
				e.Rest(w)
			}
			if got := len(b.World.Effects()); got != 6 || len(b.World.Twice()) > 0 {
				t.Errorf("effects: %v", b.World.Effects())
			}
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			for p, w := range workflows {
				want := b.FullFold(w)
				rows, err := b.Store.Get(w, []projections.Key{projections.EventKey("order.in", "a")})
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := rows[0].(*projections.TopicEvent); !ok || got.Status != want.Event("order.in", "a").Status {
					t.Errorf("the store's event of partition %d: %+v", p, rows)
				}
				if s, err := b.Store.Load(w); err != nil || s.Head != want.Head {
					t.Errorf("the store's head of partition %d: %+v, want %+v (%v)", p, s.Head, want.Head, err)
				}
			}
		})
	}
}

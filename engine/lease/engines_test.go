package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// owner is an engine that does nothing but hold partitions.
type owner struct {
	*Keeper
	way  *way
	name string
	// kill ends it before it can tell the others anything, stop after it has told them.
	kill, stop context.CancelFunc
	ended      chan struct{}

	mu    sync.Mutex
	held  map[int]*Lease
	lacks Shortage
}

// lack has the engine lack something from now on.
func (o *owner) lack(what Shortage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lacks = what
}

func (o *owner) lacking() Shortage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lacks
}

// engines starts engines on one table.
type engines struct {
	t          *testing.T
	table      *table
	partitions int
	begun      time.Time
	all        []*owner
	epochs     map[int]uint64
	leases     map[int]*Lease // the last one seen
}

func (e *engines) start(name string, changes ...func(*Config)) *owner {
	w := &way{table: e.table}
	cfg := Config{Bucket: w, Partitions: e.partitions, Engine: fmt.Sprint(name, "-", len(e.all)), Node: name,
		Elapsed: func() time.Duration { return time.Since(e.begun) }, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range changes {
		change(&cfg)
	}
	k, err := New(cfg)
	if err != nil {
		e.t.Fatal(err)
	}
	o := &owner{Keeper: k, way: w, name: name, held: map[int]*Lease{}, ended: make(chan struct{})}
	life, kill := context.WithCancel(e.t.Context())
	work, stop := context.WithCancel(life)
	o.stop = func() {
		k.Leave()
		stop()
	}
	o.kill = func() {
		w.mu.Lock()
		w.cut = true
		w.mu.Unlock()
		kill()
	}
	var working sync.WaitGroup
	for p := range e.partitions {
		working.Go(func() { o.work(work, p) })
	}
	keeping, end := context.WithCancel(life)
	go func() {
		working.Wait()
		end()
	}()
	go func() {
		defer close(o.ended)
		if err := k.Run(keeping, o.lacking); err != nil && !errors.Is(err, context.Canceled) {
			e.t.Errorf("%s: %v", name, err)
		}
	}()
	e.all = append(e.all, o)
	return o
}

// work is what an engine does with a partition.
func (o *owner) work(ctx context.Context, p int) {
	for {
		l, err := o.Acquire(ctx, p)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.held[p] = l
		o.mu.Unlock()
		select {
		case <-l.Ending():
		case <-ctx.Done():
		}
		o.mu.Lock()
		delete(o.held, p)
		o.mu.Unlock()
		_ = l.GiveBack(context.WithoutCancel(ctx)) // the entry is old at some time
	}
}

// holding are the partitions whose lease holds.
func (o *owner) holding() (held []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p, l := range o.held {
		if l.Holds() {
			held = append(held, p)
		}
	}
	slices.Sort(held)
	return held
}

// pass lets time pass, and looks all the while that no two engines hold a partition, and that epochs only grow.
func (e *engines) pass(d time.Duration) {
	e.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-time.After(100 * time.Millisecond) // in the time of the bubble
		synctest.Wait()
		by := map[int]string{}
		for _, o := range e.all {
			for _, p := range o.holding() {
				if other, ok := by[p]; ok {
					e.t.Fatalf("after %s both %s and %s hold partition %d", time.Since(e.begun), other, o.name, p)
				}
				by[p] = o.name
				o.mu.Lock()
				l := o.held[p]
				o.mu.Unlock()
				if l == nil || l == e.leases[p] {
					continue
				}
				if l.Epoch() <= e.epochs[p] {
					e.t.Fatalf("%s holds partition %d in epoch %d, and it had %d", o.name, p, l.Epoch(), e.epochs[p])
				}
				e.epochs[p], e.leases[p] = l.Epoch(), l
			}
		}
	}
}

// wantSpread wants all partitions held, about as many by each.
func (e *engines) wantSpread(owners ...*owner) {
	e.t.Helper()
	for _, o := range owners {
		if n := len(o.holding()); n < e.partitions/len(owners) {
			e.t.Errorf("after %s %s holds %d of %d partitions", time.Since(e.begun), o.name, n, e.partitions)
		}
	}
	e.wantHeld(owners...)
}

// wantHeld wants all partitions held by these.
func (e *engines) wantHeld(owners ...*owner) {
	e.t.Helper()
	sum := 0
	for _, o := range owners {
		sum += len(o.holding())
	}
	if sum != e.partitions {
		e.t.Errorf("after %s %d of %d partitions are held", time.Since(e.begun), sum, e.partitions)
	}
}

// bubble runs a test with engines in made-up time.
func bubble(t *testing.T, partitions int, test func(e *engines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &engines{t: t, table: newTable(), partitions: partitions, begun: time.Now(), epochs: map[int]uint64{},
			leases: map[int]*Lease{}}
		test(e)
		for _, o := range e.all {
			o.kill()
		}
		for _, o := range e.all {
			<-o.ended
		}
		<-time.After(time.Minute) // what they still try to give back; in the time of the bubble
	})
}

package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// table is a bucket in memory.
type table struct {
	mu       sync.Mutex
	values   map[string][]byte
	at       map[string]uint64
	last     uint64
	watchers map[*func(string, []byte)]bool
}

func newTable() *table {
	return &table{values: map[string][]byte{}, at: map[string]uint64{}, watchers: map[*func(string, []byte)]bool{}}
}

// way is one engine's way to the table, on which requests and answers get lost.
type way struct {
	*table
	mu    sync.Mutex
	cut   bool
	fault func() (before, after time.Duration, lost string)
}

var errLate = errors.New("no answer in time")

// travel is what happens to one request.
func (w *way) travel(ctx context.Context, do func()) error {
	w.mu.Lock()
	cut, fault := w.cut, w.fault
	w.mu.Unlock()
	if cut {
		<-ctx.Done()
		return errLate
	}
	if fault == nil {
		do()
		return nil
	}
	before, after, lost := fault()
	if lost == "request" {
		<-ctx.Done()
		return errLate
	}
	// A request that is on its way arrives, whether its sender still waits or not.
	done := make(chan struct{})
	go func() {
		<-time.After(before) // in the time of the bubble
		do()
		<-time.After(after) // in the time of the bubble
		close(done)
	}()
	if lost != "answer" {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return errLate
		}
	}
	<-ctx.Done()
	return errLate
}

func (w *way) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	type answer struct {
		value    []byte
		revision uint64
	}
	got := make(chan answer, 1)
	err = w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		got <- answer{w.values[key], w.at[key]}
	})
	if err != nil {
		return nil, 0, err
	}
	a := <-got
	return a.value, a.revision, nil
}

func (w *way) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	got := make(chan uint64, 1)
	err := w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		if w.at[key] != revision {
			got <- 0
			return
		}
		w.last++
		w.values[key], w.at[key] = value, w.last
		for watcher := range w.watchers {
			go (*watcher)(key, value)
		}
		got <- w.last
	})
	if err != nil {
		return 0, err
	}
	return <-got, nil
}

func (w *way) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	got := make(chan []string, 1)
	err = w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		var all []string
		for key := range w.values {
			if strings.HasPrefix(key, prefix) {
				all = append(all, key)
			}
		}
		got <- all
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

func (w *way) Watch(ctx context.Context, written func(string, []byte)) error {
	w.table.mu.Lock()
	w.watchers[&written] = true
	w.table.mu.Unlock()
	<-ctx.Done()
	w.table.mu.Lock()
	delete(w.watchers, &written)
	w.table.mu.Unlock()
	return nil
}

// owner is an engine that does nothing but hold partitions.
type owner struct {
	*Keeper
	way  *way
	name string
	// kill ends it without a word, stop with all that it has to say.
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

func (e *engines) start(name string) *owner {
	w := &way{table: e.table}
	k, err := New(Config{Bucket: w, Partitions: e.partitions, Engine: fmt.Sprint(name, "-", len(e.all)), Node: name,
		Elapsed: func() time.Duration { return time.Since(e.begun) }, Logger: slog.New(slog.DiscardHandler)})
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
	sum := 0
	for _, o := range owners {
		n := len(o.holding())
		if sum += n; n < e.partitions/len(owners) {
			e.t.Errorf("after %s %s holds %d of %d partitions", time.Since(e.begun), o.name, n, e.partitions)
		}
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

// Engines that come and go share the partitions; one that is killed is replaced after its time, and one that ends hands
// over at once.
func TestLeasesFollowTheEngines(t *testing.T) {
	t.Parallel()
	bubble(t, 7, func(e *engines) {
		a := e.start("a")
		e.pass(time.Second)
		e.wantSpread(a)
		b, c := e.start("b"), e.start("c")
		e.pass(20 * time.Second)
		e.wantSpread(a, b, c)
		b.kill()
		e.pass(takeAfter - renewEvery)
		if got := len(a.holding()) + len(c.holding()); got == 7 {
			t.Error("the partitions of a killed engine were taken before its time")
		}
		e.pass(3 * renewEvery)
		e.wantSpread(a, c)
		c.stop()
		<-c.ended
		e.pass(time.Second)
		e.wantSpread(a)
		b = e.start("b")
		e.pass(20 * time.Second)
		e.wantSpread(a, b)
	})
}

// An engine that comes while another one is gone without a word counts that one for a while, and so takes less than its
// share. The others hand nothing over that nobody would take.
func TestNothingIsHandedOverThatNobodyTakes(t *testing.T) {
	t.Parallel()
	bubble(t, 16, func(e *engines) {
		a, b, c := e.start("a"), e.start("b"), e.start("c")
		e.pass(40 * time.Second)
		a.kill()
		e.pass(40 * time.Second)
		e.wantSpread(b, c)
		d := e.start("d")
		free := time.Duration(0) // for how long a partition was nobody's
		for range 600 {
			e.pass(100 * time.Millisecond)
			if len(b.holding())+len(c.holding())+len(d.holding()) == 16 {
				free = 0
			} else if free += 100 * time.Millisecond; free > renewEvery {
				t.Fatalf("after %s a partition is nobody's for %s", time.Since(e.begun), free)
			}
		}
		e.wantSpread(b, c, d)
	})
}

// An engine that cannot reach the bucket stops before another one begins, and takes part again afterwards.
func TestLeaseOfAnEngineThatIsCutOff(t *testing.T) {
	t.Parallel()
	bubble(t, 4, func(e *engines) {
		a, b := e.start("a"), e.start("b")
		e.pass(20 * time.Second)
		e.wantSpread(a, b)
		cut := func(cut bool) {
			a.way.mu.Lock()
			defer a.way.mu.Unlock()
			a.way.cut = cut
		}
		cut(true)
		e.pass(holdFor)
		if held := a.holding(); len(held) != 0 {
			t.Errorf("the engine that is cut off holds %v after %s", held, holdFor)
		}
		e.pass(10 * time.Second)
		e.wantSpread(b)
		cut(false)
		e.pass(20 * time.Second)
		e.wantSpread(a, b)
	})
}

// While the bucket is away, no engine takes a lease of another: the owners go on when it is back.
func TestLeasesOutliveABucketWithoutLeader(t *testing.T) {
	t.Parallel()
	bubble(t, 4, func(e *engines) {
		a, b := e.start("a"), e.start("b")
		e.pass(20 * time.Second)
		before := [][]int{a.holding(), b.holding()}
		epochs := maps.Clone(e.epochs)
		for _, o := range e.all {
			o.way.mu.Lock()
			o.way.cut = true
			o.way.mu.Unlock()
		}
		e.pass(10 * time.Second) // an election
		for _, o := range e.all {
			o.way.mu.Lock()
			o.way.cut = false
			o.way.mu.Unlock()
		}
		e.pass(10 * time.Second)
		if after := [][]int{a.holding(), b.holding()}; !slices.EqualFunc(before, after, slices.Equal) ||
			!maps.Equal(epochs, e.epochs) {
			t.Errorf("%v have become %v", before, after)
		}
	})
}

// A second engine under the name of a running one does not start. One whose earlier process was killed does.
func TestNodeNames(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(e *engines) {
		a := e.start("a")
		e.pass(10 * time.Second)
		k, err := New(Config{Bucket: &way{table: e.table}, Partitions: 1, Engine: "another", Node: "a",
			Elapsed: func() time.Duration { return time.Since(e.begun) }, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Run(e.t.Context(), a.lacking); !errors.Is(err, ErrNodeName) {
			t.Errorf("a second engine of the name: %v", err)
		}
		a.kill()
		again := e.start("a")
		e.pass(40 * time.Second)
		e.wantSpread(again)
	})
}

// Whatever gets lost between engines and bucket, no two engines hold a partition; and when the ways are good again, all
// partitions are held and spread.
func TestLeasesUnderFaults(t *testing.T) {
	t.Parallel()
	seeds := 100
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, 5, func(e *engines) { e.faults(uint64(seed)) })
		})
	}
}

func (e *engines) faults(seed uint64) {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 0))
	upTo := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return chance.IntN(n)
	}
	bad := 1 + upTo(30) // percent
	fault := func() (before, after time.Duration, lost string) {
		before, after = time.Duration(upTo(50))*time.Millisecond, time.Duration(upTo(50))*time.Millisecond
		if upTo(100) >= bad {
			return before, after, ""
		}
		switch upTo(4) {
		case 0:
			return before, after, "request"
		case 1:
			return before, after, "answer"
		case 2:
			return time.Duration(upTo(30_000)) * time.Millisecond, after, "" // it comes long after its sender has given it up
		default:
			return before, time.Duration(upTo(3_000)) * time.Millisecond, ""
		}
	}
	begin := func(name string) {
		o := e.start(name)
		o.way.mu.Lock()
		o.way.fault = fault
		o.way.mu.Unlock()
	}
	begin("a")
	begin("b")
	begin("c")
	live := map[string]*owner{"a": e.all[0], "b": e.all[1], "c": e.all[2]}
	for range 12 {
		e.pass(time.Duration(upTo(25)) * time.Second)
		name := string(rune('a' + upTo(3)))
		switch o := live[name]; upTo(4) {
		case 0:
			o.kill()
			<-o.ended
			begin(name)
			live[name] = e.all[len(e.all)-1]
		case 1:
			o.stop()
			<-o.ended
			o.kill()
			begin(name)
			live[name] = e.all[len(e.all)-1]
		case 2:
			o.way.mu.Lock()
			o.way.cut = !o.way.cut
			o.way.mu.Unlock()
		}
	}
	for _, o := range live {
		o.way.mu.Lock()
		o.way.cut, o.way.fault = false, nil
		o.way.mu.Unlock()
	}
	e.pass(100 * time.Second)
	e.wantSpread(slices.Collect(maps.Values(live))...)
}

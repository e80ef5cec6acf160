package lease

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

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

// An engine that starts soon after another one was killed counts that one for a while, and so takes less than its
// share. Meanwhile the others hand over no partition that no engine would take.
func TestNothingIsHandedOverThatNoEngineTakes(t *testing.T) {
	t.Parallel()
	bubble(t, 16, func(e *engines) {
		a, b, c := e.start("a"), e.start("b"), e.start("c")
		e.pass(40 * time.Second)
		a.kill()
		e.pass(40 * time.Second)
		e.wantSpread(b, c)
		d := e.start("d")
		free := time.Duration(0) // for how long a partition had no owner
		for range 600 {
			e.pass(100 * time.Millisecond)
			if len(b.holding())+len(c.holding())+len(d.holding()) == 16 {
				free = 0
			} else if free += 100 * time.Millisecond; free > renewEvery {
				t.Fatalf("after %s a partition has had no owner for %s", time.Since(e.begun), free)
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

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
)

// lingering is the workflow orders beside a crowd of workflows that are at work for as long as the
// test lets them: the log does not answer when their first run commits. All of it lives in a bubble, whose
// time stands still while any goroutine could go on.
type lingering struct {
	*enginetest.Engine
	t     *testing.T
	bench *enginetest.Harness
	crowd chan struct{} // closed to let them end
}

// inBubble also waits for what the transformer of scripts leaves behind: goroutines that end by
// themselves.
func inBubble(t *testing.T, body func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute)
		body(t)
	})
}

const longest = 100 * time.Millisecond

// linger lets orders work off one event with so many workflows at work besides; then it lingers, if it
// does.
func linger(t *testing.T, others int, longest time.Duration) *lingering {
	l := &lingering{t: t, crowd: make(chan struct{})}
	l.bench = enginetest.NewOn(t, memlog.New(memlog.Config{Fault: func(e eventlog.Entry) memlog.Fault {
		if strings.HasPrefix(string(e.Workflow), "busy") {
			if e.Kind == "run.committed" {
				<-l.crowd
			}
		} else if e.Expected.Seq == 0 {
			<-time.After(time.Second) // an append takes long: only longest bounds how long a run lingers
		}
		return memlog.None
	}}))
	l.bench.Config.Linger = longest
	l.bench.Config.FlushEvery = time.Hour
	l.Engine = l.bench.Start()
	l.MustDeploy(ordersWorkflow)
	for i := range others {
		l.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, fmt.Sprintf(`"busy%d"`, i), 1))
	}
	synctest.Wait()
	l.MustPush("orders", "order.in", "a")
	synctest.Wait()
	return l
}

// end stops the engine and its load before the bubble ends.
func (l *lingering) end() {
	close(l.crowd)
	if err := l.Stop(); err != nil {
		l.t.Error(err)
	}
}

// lingers returns the run that lingers, nil if none does.
func (l *lingering) lingers() *projections.Run {
	s, _ := l.State("orders")
	return s.CurrentRun()
}

// want compares the kinds of the transitions since the deploy and its first run.
func (l *lingering) want(kinds ...string) {
	l.t.Helper()
	if got := l.bench.Kinds("orders")[2:]; !slices.Equal(got, kinds) {
		l.t.Errorf("transitions:\n got %v\nwant %v", got, kinds)
	}
}

var (
	worked = []string{"event.published", "mutation.started", "mutation.applied", "run.committed"}
	empty  = []string{"run.committed"}
)

// An event that arrives while a run lingers is worked off by this very run: no empty run lies between.
func TestEventEndsLingering(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := linger(t, 7, longest)
		defer l.end()
		l.want(worked...)
		run := l.lingers()
		if run == nil {
			t.Fatal("no run lingers")
		}
		began := time.Now()
		l.MustPush("orders", "order.in", "b")
		synctest.Wait()
		l.want(slices.Concat(worked, worked)...)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the event waited %v", waited)
		}
		full := l.bench.FullFold("orders")
		if got := full.Run(run.ID); len(got.Reserved) != 1 || got.Reserved[0].MessageID != "b" {
			t.Errorf("the run that lingered reserved %v, want b", got.Reserved)
		}
		if next := l.lingers(); next == nil || next.ID == run.ID {
			t.Errorf("after its work the workflow does not linger again: %+v", next)
		}
		if twice := l.bench.World.Twice(); len(twice) > 0 || len(l.bench.World.Effects()) != 2 {
			t.Errorf("effects: %v", l.bench.World.Effects())
		}
	})
}

// Any other change of the workflow ends lingering too: no change waits for it.
func TestAnyChangeEndsLingering(t *testing.T) {
	operate := func(cmd decide.Command) func(*lingering) error {
		return func(l *lingering) error {
			return l.Operate(l.t.Context(), enginetest.Tester, "orders", cmd, "test")
		}
	}
	for name, change := range map[string]func(*lingering) error{
		"pause":   operate(decide.Pause{}),
		"archive": operate(decide.Archive{}),
		"grants":  operate(decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.GrantDeny}}),
		"deploy": func(l *lingering) error {
			_, err := l.Deploy(l.t.Context(), enginetest.Tester, deployRequest(ordersWorkflow+"// second version"))
			return err
		},
		"an event without a subscriber": func(l *lingering) error {
			_, err := l.Push(l.t.Context(), enginetest.Tester, "orders", "order.sent",
				[]decide.PushItem{{MessageID: "x", Title: "X"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := linger(t, 7, longest)
				defer l.end()
				if l.lingers() == nil {
					t.Fatal("no run lingers")
				}
				began := time.Now()
				if err := change(l); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if run := l.lingers(); run != nil {
					t.Errorf("run %s still lingers", run.ID)
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("it took %v", waited)
				}
			})
		})
	}
}

// A drain waits for no run that lingers, and leaves none behind.
func TestDrainEndsLingering(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := linger(t, 7, longest)
		if l.lingers() == nil {
			t.Fatal("no run lingers")
		}
		began := time.Now()
		l.end()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the drain took %v", waited)
		}
		l.want(slices.Concat(worked, empty)...)
	})
}

// Nothing happens: the run ends in time, and the workflow comes to rest without lingering again.
func TestLingeringEndsByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := linger(t, 7, longest)
		defer l.end()
		if l.lingers() == nil {
			t.Fatal("no run lingers")
		}
		<-time.After(longest)
		synctest.Wait()
		if run := l.lingers(); run != nil {
			t.Errorf("run %s still lingers", run.ID)
		}
		l.want(slices.Concat(worked, empty)...)
	})
}

// Without a crowd there is nothing to save, and without being allowed to nothing lingers.
func TestNothingLingersWithoutNeed(t *testing.T) {
	for name, c := range map[string]struct {
		others  int
		longest time.Duration
	}{"few at work": {6, longest}, "not allowed": {7, 0}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := linger(t, c.others, c.longest)
				defer l.end()
				if run := l.lingers(); run != nil {
					t.Errorf("run %s lingers", run.ID)
				}
				l.want(slices.Concat(worked, empty)...)
			})
		})
	}
}

func deployRequest(source string) engine.DeployRequest {
	return engine.DeployRequest{Source: source, Filename: "test.ts", GrantUsed: true}
}

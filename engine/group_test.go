package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// groupLog is a log that keeps an event's publication waiting until all pushes of a test wait behind it, so that they
// become a group, and then lets something happen to the first group of at least two entries.
type groupLog struct {
	eventlog.Log
	gather chan struct{} // closed when all wait
	held   chan struct{} // closed when the first publication is under way
	fault  func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) ([]eventlog.Written, error)

	once     sync.Once
	mu       sync.Mutex
	largest  int
	happened bool
}

func newGroupLog(below eventlog.Log) *groupLog {
	return &groupLog{Log: below, gather: make(chan struct{}), held: make(chan struct{})}
}

func (l *groupLog) MaxGroup() int { return 32 }

func (l *groupLog) AppendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	if entries[0].Kind == "event.published" {
		l.once.Do(func() { close(l.held) })
		<-l.gather
	}
	l.mu.Lock()
	l.largest = max(l.largest, len(entries))
	fault := l.fault != nil && len(entries) > 1 && !l.happened
	l.happened = l.happened || fault
	l.mu.Unlock()
	if fault {
		return l.fault(ctx, l.Log, entries)
	}
	return eventlog.AppendInOrder(ctx, l.Log, entries)
}

// pushTogether pushes each event by itself, all of them at once, and returns the errors.
func (l *groupLog) pushTogether(t *testing.T, e *enginetest.Engine, died func() bool, ids ...string) []error {
	t.Helper()
	failed := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			item := decide.PushItem{MessageID: eventlog.MessageID(id), Title: id, Payload: fmt.Appendf(nil, `{"id":%q}`, id)}
			_, failed[i] = e.Push(t.Context(), enginetest.Tester, "orders", "order.in", []decide.PushItem{item})
		})
		if i == 0 {
			<-l.held
		}
	}
	for e.Waiting("orders") < len(ids)-1 && !died() {
		runtime.Gosched()
	}
	close(l.gather)
	all.Wait()
	return failed
}

func immortal() bool { return false }

// published lists the events of the topic in the order of the log.
func published(t *testing.T, log eventlog.Log) (ids []string) {
	t.Helper()
	for r, err := range log.ReadWorkflow(t.Context(), "orders", 1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Facts {
			if f, ok := f.(*eventlog.EventPublished); ok && f.Topic == "order.in" {
				ids = append(ids, string(f.MessageID))
			}
		}
	}
	return ids
}

// C10: commands that wait for the log together are written together, each decided on the state the one before leaves.
// Of a group that is torn the first ones stand; the rest is decided again behind what others have written. A lost
// answer is settled in order. Each event is in the log once, and each mutation is sent once.
func TestC10_Groups(t *testing.T) {
	t.Parallel()
	ids := []string{"a", "b", "c", "d", "e", "c", "f", "a"} // two come twice
	for name, fault := range map[string]func(context.Context, eventlog.Log, []eventlog.Entry) ([]eventlog.Written, error){
		"written": nil,
		"torn, and others write behind": func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) (
			[]eventlog.Written, error) {
			written, err := eventlog.AppendInOrder(ctx, below, entries[:2])
			if err != nil {
				return written, err
			}
			foreign, err := eventlog.NewEntry(eventlog.Transition{
				ID: "foreign", Workflow: "orders", At: eventlog.At(time.Unix(1700000000, 0)), Actor: enginetest.Tester,
				Cause: eventlog.Cause{Kind: "test"}, Kind: "workflow.granted",
				Facts: []eventlog.Fact{&eventlog.WorkflowGranted{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}}},
			}, written[1].Head)
			if err != nil {
				return written, err
			}
			if _, err := below.Append(ctx, foreign); err != nil {
				return written, err
			}
			written[1].Overtaken = true
			return written, &eventlog.ConflictError{Workflow: "orders"}
		},
		"refused at once": func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) (
			[]eventlog.Written, error) {
			foreign, err := eventlog.NewEntry(eventlog.Transition{
				ID: "foreign", Workflow: "orders", At: eventlog.At(time.Unix(1700000000, 0)), Actor: enginetest.Tester,
				Cause: eventlog.Cause{Kind: "test"}, Kind: "workflow.granted",
				Facts: []eventlog.Fact{&eventlog.WorkflowGranted{Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow}}},
			}, entries[0].Expected)
			if err != nil {
				return nil, err
			}
			if _, err := below.Append(ctx, foreign); err != nil {
				return nil, err
			}
			return eventlog.AppendInOrder(ctx, below, entries)
		},
		"answer lost": func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) ([]eventlog.Written, error) {
			_, _ = eventlog.AppendInOrder(ctx, below, entries[:3])
			return nil, eventlog.ErrUnconfirmed
		},
		"answer lost behind the first": func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) (
			[]eventlog.Written, error) {
			written, _ := eventlog.AppendInOrder(ctx, below, entries)
			return written[:1], eventlog.ErrUnconfirmed
		},
		"one is too large": func(ctx context.Context, below eventlog.Log, entries []eventlog.Entry) (
			[]eventlog.Written, error) {
			written, _ := eventlog.AppendInOrder(ctx, below, entries[:1])
			return written, fmt.Errorf("the broker takes less by now: %w", eventlog.ErrTooLarge)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := enginetest.New(t)
			log := newGroupLog(b.Log)
			log.fault = fault
			below := b.Log
			b.Log = log
			e := b.Start()
			e.MustDeploy(sideBySide("concurrency: 8"))
			refused := 0
			for i, err := range log.pushTogether(t, e, immortal, ids...) {
				switch {
				case errors.Is(err, eventlog.ErrTooLarge) && name == "one is too large":
					refused++
					e.MustPush("orders", "order.in", ids[i])
				case err != nil:
					t.Errorf("push %s: %v", ids[i], err)
				}
			}
			if want := name == "one is too large"; want != (refused == 1) {
				t.Errorf("%d pushes were refused", refused)
			}
			s := e.Rest("orders")
			if got := published(t, below); len(got) != 6 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 6 {
				t.Errorf("published %v", got)
			}
			if len(b.World.Effects()) != 6 || len(b.World.Twice()) > 0 || s.Blocked != nil {
				t.Errorf("effects %v, twice %v, blocked %+v", b.World.Effects(), b.World.Twice(), s.Blocked)
			}
			if fault == nil && log.largest < 2 { // how many share one depends on what else waits
				t.Errorf("the largest group has %d entries", log.largest)
			}
			if fault != nil && !log.happened {
				t.Error("there was no group")
			}
			_ = e.Stop()
			b.Log = below
			b.MustAgree("orders")
		})
	}
}

// C10: a process that dies before or after any entry of a group is followed by one that has each effect once. Pushes,
// starts, outcomes and commits of several runs are written in groups here.
func TestC10_CrashInsideAGroup(t *testing.T) {
	t.Parallel()
	whole := crashInsideAGroup(t, 0, enginetest.BeforeAppend)
	if whole < 12 {
		t.Fatalf("only %d appends", whole)
	}
	for at := 2; at <= whole; at++ { // the first is the deploy
		for _, point := range []enginetest.CrashPoint{enginetest.BeforeAppend, enginetest.AfterAppend} {
			t.Run(fmt.Sprintf("append %d point %d", at, point), func(t *testing.T) {
				t.Parallel()
				crashInsideAGroup(t, at, point)
			})
		}
	}
}

func crashInsideAGroup(t *testing.T, at int, point enginetest.CrashPoint) (appends int) {
	t.Helper()
	ids := []string{"a", "b", "c", "d", "e", "f"}
	b := enginetest.NewOn(t, memlog.New(memlog.Config{}))
	b.Config = engine.Config{Clock: enginetest.NewJumpClock(time.Hour), DrainTimeout: time.Nanosecond}
	below := b.Log
	crash := enginetest.NewCrashLog(below, at, point)
	log := newGroupLog(crash)
	b.Log = log
	var arrived atomic.Int32
	all := make(chan struct{})
	b.World.OnPerform(func(ctx context.Context, call connector.Call) connector.Outcome {
		if int(arrived.Add(1)) == len(ids) { // all outcomes come at once
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
			return connector.Outcome{Status: connector.Uncertain}
		}
		if call.Params == nil || crash.Dead() && arrived.Load()%2 == 0 {
			return connector.Outcome{Status: connector.Uncertain}
		}
		return b.World.Apply(call)
	})
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 6"))
	pushed := log.pushTogether(t, e, crash.Dead, ids...)
	_ = e.RestOrDie()
	_ = e.Stop()
	if at == 0 && log.largest < 2 {
		t.Fatalf("the largest group has %d entries", log.largest)
	}
	b.World.OnPerform(nil)
	b.Log = below
	e = b.Start()
	for i, err := range pushed {
		if err != nil { // not acknowledged: made again
			e.MustPush("orders", "order.in", ids[i])
		}
	}
	s := e.Rest("orders")
	if got := published(t, below); len(got) != len(ids) {
		t.Errorf("published %v", got)
	}
	if len(b.World.Effects()) != len(ids) || len(b.World.Twice()) > 0 {
		t.Errorf("effects %v, twice %v\n%v", b.World.Effects(), b.World.Twice(), b.Kinds("orders"))
	}
	if s.Blocked != nil || len(decide.Orphans(s)) > 0 {
		t.Errorf("blocked %+v orphans %v", s.Blocked, decide.Orphans(s))
	}
	_ = e.Stop()
	b.MustAgree("orders")
	return crash.Appends()
}

// Clients that give up while the log does not answer leave nothing behind: a long outage fills no memory.
func TestC10_CallersThatHaveGoneLeaveNothing(t *testing.T) {
	b := enginetest.New(t)
	log := newGroupLog(b.Log)
	b.Log = log
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 8"))
	push := func(ctx context.Context, id string) error {
		_, err := e.Push(ctx, enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: eventlog.MessageID(id), Title: id, Payload: []byte(`{}`)}})
		return err
	}
	first := make(chan error, 1)
	go func() { first <- push(t.Context(), "first") }()
	<-log.held
	before := runtime.NumGoroutine()
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			if err := push(ctx, fmt.Sprint(i)); !errors.Is(err, engine.ErrNothingRecorded) {
				t.Errorf("a push that was given up: %v", err)
			}
		})
	}
	for e.Waiting("orders") < 400 {
		runtime.Gosched()
	}
	leave()
	all.Wait()
	for runtime.NumGoroutine() > before+262 { // until the test times out; at most 256 goroutines stay for the next work
		runtime.Gosched()
	}
	close(log.gather)
	if err := <-first; err != nil {
		t.Error(err)
	}
	e.Rest("orders")
}

// C10: while it is not known what became of a group, nothing else is appended, also not what was cut off it for its
// size.
func TestC10_NothingIsAppendedBehindAnUnknown(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	log := newGroupLog(b.Log)
	var mu sync.Mutex
	sent := map[uint64]eventlog.TransitionID{}
	b.Log = seenLog{log, func(e eventlog.Entry) {
		mu.Lock()
		defer mu.Unlock()
		if id, ok := sent[e.Expected.Revision]; ok && id != e.ID {
			t.Errorf("two entries for revision %d", e.Expected.Revision+1)
		}
		sent[e.Expected.Revision] = e.ID
	}}
	log.fault = func(context.Context, eventlog.Log, []eventlog.Entry) ([]eventlog.Written, error) {
		return nil, fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, eventlog.ErrFull)
	}
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 8"))
	large := fmt.Appendf(nil, "%q", strings.Repeat("x", 200<<10))
	var all sync.WaitGroup
	for i := range 12 { // more than go together
		all.Go(func() {
			_, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in",
				[]decide.PushItem{{MessageID: eventlog.MessageID(fmt.Sprint(i)), Title: "Large", Payload: large}})
			if err != nil && !errors.Is(err, eventlog.ErrUnconfirmed) && !errors.Is(err, engine.ErrNothingRecorded) {
				t.Errorf("push %d: %v", i, err)
			}
		})
		if i == 0 {
			<-log.held
		}
	}
	for e.Waiting("orders") < 11 {
		runtime.Gosched()
	}
	close(log.gather)
	all.Wait()
}

// seenLog shows the first entry of each group.
type seenLog struct {
	*groupLog
	see func(eventlog.Entry)
}

func (l seenLog) AppendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	l.see(entries[0])
	return l.groupLog.AppendGroup(ctx, entries)
}

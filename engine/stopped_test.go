package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// readerLog is a log whose reads a test can see and change.
type readerLog struct {
	eventlog.Log
	// from is where the last read of a partition began.
	from atomic.Uint64
	// change, if set, stands between the log and its reader; false leaves the record out.
	change func(eventlog.Record, error) (eventlog.Record, error, bool)
}

func (l *readerLog) Read(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	l.from.Store(from)
	return l.changed(l.Log.Read(ctx, p, from))
}

func (l *readerLog) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return l.changed(l.Log.ReadWorkflow(ctx, w, from))
}

func (l *readerLog) changed(records iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range records {
			keep := true
			if l.change != nil {
				r, err, keep = l.change(r, err)
			}
			if keep && !yield(r, err) {
				return
			}
		}
	}
}

// lines counts what a logger says.
type lines struct {
	mu       sync.Mutex
	text     bytes.Buffer
	notified chan struct{} // if set, gets a value when it says sign
	sign     string        // "trying again" if empty
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(p, []byte(cmp.Or(l.sign, "trying again"))) {
		select {
		case l.notified <- struct{}{}:
		default:
		}
	}
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func (l *lines) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// follows builds what could be the workflow's next record.
func follows(t *testing.T, b *enginetest.Harness, facts ...eventlog.Fact) eventlog.Entry {
	t.Helper()
	s := b.FullFold("orders")
	e, err := eventlog.NewEntry(eventlog.Transition{
		ID: "01HZZZZZZZZZZZZZZZZZZZZZZZ", Workflow: "orders", At: eventlog.At(time.Now()), Actor: enginetest.Tester,
		Cause: eventlog.Cause{Kind: "test"}, Kind: facts[0].FactType(), Facts: facts,
	}, s.Head)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A workflow whose log cannot be followed costs the others nothing: the checkpoint goes on past it, so that
// a start reads no more than after a clean stop. Each start says again that it is stopped, though it does
// not read the record again that it stopped at; and once that can be followed, the workflow goes on from
// its last good record.
func TestABrokenWorkflowCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(*testing.T, *enginetest.Harness) []byte{
		"unreadable": func(*testing.T, *enginetest.Harness) []byte { return []byte("what a later version writes") },
		"does not fold": func(t *testing.T, b *enginetest.Harness) []byte {
			return follows(t, b, &eventlog.RunCommitted{Run: "none"}).Stored
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := memlog.New(memlog.Config{})
			log := &readerLog{Log: memory}
			b := enginetest.NewOn(t, log)
			var said lines
			b.Logger = slog.New(slog.NewTextHandler(&said, nil))
			e := b.Start()
			e.MustDeploy(ordersWorkflow)
			e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, `"bills"`, 1))
			e.MustPush("orders", "order.in", "a")
			e.Rest("orders")
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			good := follows(t, b, &eventlog.WorkflowPaused{})
			bad := memory.PutRaw("orders", broken(t, b))
			later := memory.PutRaw("orders", []byte("and what follows it"))

			start := func() *enginetest.Engine {
				said.forget()
				e := b.Start()
				if err := e.Stopped()["orders"]; err == nil || said.count("workflow stopped") != 1 {
					t.Fatalf("orders is stopped by %v; said:\n%s", err, said.text.String())
				}
				var refusal *decide.Refusal
				if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Resume{}, "resume"); !errors.As(err,
					&refusal) || refusal.Code != "workflow.stopped" {
					t.Fatalf("a stopped workflow answers %v", err)
				}
				return e
			}
			covered := func(e *enginetest.Engine) uint64 {
				t.Helper()
				last, err := b.Log.Last(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Stop(); err != nil {
					t.Fatal(err)
				}
				if cp, _, err := b.Store.Checkpoint(0); err != nil || cp.Seq != last {
					t.Fatalf("the checkpoint is %d, the log ends at %d (%v)", cp.Seq, last, err)
				}
				return last
			}
			last := covered(start())
			if last != later.Seq {
				t.Fatalf("the log ends at %d, want %d", last, later.Seq)
			}
			e = start()
			if from := log.from.Load(); from != last {
				t.Errorf("the second start reads from %d, want from the checkpoint at %d", from, last)
			}
			e.MustPush("bills", "order.in", "b1", "b2")
			e.Rest("bills")
			covered(e)
			covered(start())

			// A version that can follow both.
			log.change = func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
				switch r.Position.Seq {
				case bad.Seq:
					t, _ := eventlog.Decode(good.Stored)
					return eventlog.Record{Position: bad, Hash: r.Hash, Transition: t}, nil, true
				case later.Seq:
					t, _ := eventlog.Decode(good.Stored)
					t.Revision++
					t.Prev = headAt(memory, bad)
					t.Facts = []eventlog.Fact{&eventlog.WorkflowResumed{}}
					return eventlog.Record{Position: later, Hash: r.Hash, Transition: t}, nil, true
				}
				return r, err, true
			}
			for range 2 {
				e = b.Start()
				if stopped := e.Stopped(); len(stopped) > 0 {
					t.Fatalf("stopped: %v", stopped)
				}
				if s, _ := e.State("orders"); s.Head.Seq < later.Seq || s.Pause != nil {
					t.Fatalf("orders is at %+v", s.Workflow)
				}
				covered(e)
				if stops, err := b.Store.Stops(0); err != nil || len(stops) > 0 {
					t.Fatalf("the store still knows stopped workflows: %v, %v", stops, err)
				}
			}
			e = b.Start()
			e.MustPush("orders", "order.in", "z")
			e.Rest("orders")
			covered(e)
		})
	}
}

// headAt is the hash of the message at a position.
func headAt(l *memlog.Log, at eventlog.Position) eventlog.Hash {
	for r := range l.Read(context.Background(), at.Partition, at.Seq) {
		return r.Hash
	}
	return eventlog.Hash{}
}

// Messages that were accepted as lost are no gap that the checkpoint waits for: neither those in the middle
// nor those at the end.
func TestTheCheckpointGoesOnOverWhatIsLost(t *testing.T) {
	t.Parallel()
	memory := memlog.New(memlog.Config{})
	log := &readerLog{Log: memory}
	b := enginetest.NewOn(t, log)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	first := memory.PutRaw("lost", []byte("lost"))
	memory.PutRaw("lost", []byte("lost too"))
	lost := func(from, to uint64) func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
		return func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
			return r, err, r.Position.Seq < from || r.Position.Seq > to
		}
	}
	log.change = lost(first.Seq, first.Seq+1)
	for range 2 { // at the end, then in the middle
		e = b.Start()
		e.MustPush("orders", "order.in", string(rune('a'+b.Log.(*readerLog).from.Load())))
		e.Rest("orders")
		last, err := b.Log.Last(t.Context(), 0)
		if err != nil || e.ProcessedSeq(0) != last {
			t.Fatalf("reached %d, the log ends at %d (%v)", e.ProcessedSeq(0), last, err)
		}
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
		if cp, _, err := b.Store.Checkpoint(0); err != nil || cp.Seq != last {
			t.Fatalf("the checkpoint is %d, the log ends at %d (%v)", cp.Seq, last, err)
		}
		b.MustAgree("orders")
	}
}

// A worker that cannot read what others have written tries again ever more rarely, however often it is
// nudged, and tells so as rarely. It says what it waits for, and goes on once it can read.
func TestTroubleIsToldRarely(t *testing.T) {
	t.Parallel()
	memory := memlog.New(memlog.Config{})
	log := &readerLog{Log: memory}
	b := enginetest.NewOn(t, log)
	said := lines{notified: make(chan struct{}, 1)}
	b.Logger = slog.New(slog.NewTextHandler(&said, nil))
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	// Another process pauses the workflow, and that cannot be read for a while.
	other := follows(t, b, &eventlog.WorkflowPaused{})
	var reads atomic.Int64
	var away atomic.Bool
	away.Store(true)
	log.change = func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
		if !away.Load() {
			return r, err, true
		}
		reads.Add(1)
		return eventlog.Record{}, errors.New("the log cannot be read now"), true
	}
	if _, err := memory.Append(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	push := func() { // a nudge
		t.Helper()
		_, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in",
			[]decide.PushItem{{MessageID: "a", Title: "A"}})
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Fatalf("a push that cannot be decided ends with %v", err)
		}
	}
	push()
	<-said.notified
	for range 2000 {
		push()
	}
	if n := said.count("trying again"); n == 0 || n > 8 {
		t.Errorf("told %d times of %d failures:\n%.2000s", n, reads.Load(), said.text.String())
	}
	if wait, ok := e.Why("orders"); !ok || wait == nil || wait.Reason != decide.ReasonStorage {
		t.Errorf("it waits for %+v", wait)
	}
	away.Store(false)
	if s := e.Rest("orders"); s.Pause == nil {
		t.Error("the pause that another process has written is not known")
	}
}

// A workflow whose last record the log has lost while the engine runs stops by name at its next write; the
// engine and the other workflows go on.
func TestALostLastRecordStopsOneWorkflow(t *testing.T) {
	t.Parallel()
	log := memlog.New(memlog.Config{})
	b := enginetest.NewOn(t, log)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, `"bills"`, 1))
	e.MustPush("orders", "order.in", "a")
	e.Rest("orders")
	log.Lose(eventlog.Position{Seq: b.FullFold("orders").Head.Seq})

	_, err := e.Push(t.Context(), enginetest.Tester, "orders", "order.in",
		[]decide.PushItem{{MessageID: "b", Title: "b", Payload: []byte("1")}})
	if err == nil || !strings.Contains(err.Error(), "out of service") {
		t.Errorf("a push to a workflow whose last record is lost: %v", err)
	}
	if stopped := e.Stopped(); stopped["orders"] == nil || len(stopped) != 1 {
		t.Errorf("stopped: %v", stopped)
	}
	e.MustPush("bills", "order.in", "b1")
	e.Rest("bills")
	if err := e.Stop(); err != nil {
		t.Errorf("the engine ended with %v", err)
	}
}

package logtest

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Harness is an empty log with what the suite needs to do to it.
type Harness struct {
	Log eventlog.Log
	// Second opens the same log once more, as another engine would. It may return Log itself.
	Second func() eventlog.Log
	// PutRaw stores bytes as the workflow's next message behind the log's back.
	PutRaw func(eventlog.WorkflowName, eventlog.FactType, []byte) eventlog.Position
	// LoseAnswers makes the log carry out appends and lose their acknowledgements while on.
	LoseAnswers func(on bool)
	// Disturb moves the log's leader away, where there is one; nil otherwise.
	Disturb func(context.Context)
	// RaceFor is how long the race of writers lasts; 0 means half a second.
	RaceFor time.Duration
}

// deadline bounds what must end by itself.
const deadline = 30 * time.Second

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Entry builds a small entry of the workflow on the given head.
func Entry(t testing.TB, w eventlog.WorkflowName, head eventlog.Head) eventlog.Entry {
	t.Helper()
	return PaddedEntry(t, w, head, 0)
}

// PaddedEntry is Entry with size bytes more that do not compress well.
func PaddedEntry(t testing.TB, w eventlog.WorkflowName, head eventlog.Head, size int) eventlog.Entry {
	t.Helper()
	e, err := eventlog.NewEntry(eventlog.Transition{
		ID:       eventlog.TransitionID(crand.Text()),
		Workflow: w,
		At:       eventlog.At(time.Unix(1700000000, 0)),
		Actor:    eventlog.System,
		Cause:    eventlog.Cause{Kind: "test"},
		Kind:     "workflow.paused",
		Facts: []eventlog.Fact{
			&eventlog.WorkflowPaused{},
			&eventlog.LossAccepted{Detail: noise(size)},
		},
	}, head)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func noise(size int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	b := make([]byte, size)
	for i := 0; i < size; {
		for bits, n := rand.Uint64(), 0; n < 10 && i < size; n++ {
			b[i] = letters[bits&63]
			bits >>= 6
			i++
		}
	}
	return string(b)
}

func mustAppend(t *testing.T, l eventlog.Log, e eventlog.Entry) eventlog.Head {
	t.Helper()
	return mustWrite(t, l, e).Head
}

// Head is the head that an Append answers, for tests that need nothing else of its answer.
func Head(w eventlog.Written, err error) (eventlog.Head, error) { return w.Head, err }

func mustWrite(t *testing.T, l eventlog.Log, e eventlog.Entry) eventlog.Written {
	t.Helper()
	written, err := l.Append(within(t, deadline), e)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// unsettle appends while no answer comes through.
func unsettle(t *testing.T, h Harness, e eventlog.Entry) {
	t.Helper()
	h.LoseAnswers(true)
	defer h.LoseAnswers(false)
	if head, err := h.Log.Append(within(t, 250*time.Millisecond), e); !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Fatalf("append without an answer: %+v, %v; want ErrUnconfirmed", head, err)
	}
}

// fill appends n transitions to each of the workflows in turn and returns their heads.
func fill(t *testing.T, l eventlog.Log, n int,
	workflows ...eventlog.WorkflowName) map[eventlog.WorkflowName]eventlog.Head {
	t.Helper()
	heads := make(map[eventlog.WorkflowName]eventlog.Head)
	for range n {
		for _, w := range workflows {
			heads[w] = mustAppend(t, l, Entry(t, w, heads[w]))
		}
	}
	return heads
}

// ReadAll reads every partition from its start, checks the chains and fails on any error.
func ReadAll(t testing.TB, l eventlog.Log) []eventlog.Record {
	t.Helper()
	var all []eventlog.Record
	for p := range l.Partitions() {
		var chain eventlog.Chain
		for r, err := range l.Read(within(t, deadline), p, 1) {
			if err == nil {
				err = chain.Check(r)
			}
			if err != nil {
				t.Fatalf("read partition %d: %v", p, err)
			}
			all = append(all, r)
		}
	}
	return all
}

func readWorkflow(t *testing.T, l eventlog.Log, w eventlog.WorkflowName, from uint64) []eventlog.Record {
	t.Helper()
	var all []eventlog.Record
	for r, err := range l.ReadWorkflow(within(t, deadline), w, from) {
		if err != nil {
			t.Fatalf("read %s: %v", w, err)
		}
		all = append(all, r)
	}
	return all
}

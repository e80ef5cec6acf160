package logtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

func second(t *testing.T, h Harness) {
	other := h.Second()
	mine := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	theirs := mustAppend(t, other, Entry(t, "a", mine))
	if _, err := h.Log.Append(within(t, deadline), Entry(t, "a", mine)); !errors.Is(err, eventlog.ErrConflict) {
		t.Errorf("append after the other engine's: %v, want ErrConflict", err)
	}
	caughtUp := readWorkflow(t, h.Log, "a", mine.Seq+1)
	if len(caughtUp) != 1 || caughtUp[0].Head() != theirs {
		t.Fatalf("caught up with %v, want %+v", caughtUp, theirs)
	}
	mustAppend(t, h.Log, Entry(t, "a", theirs))
	for p := range h.Log.Partitions() {
		if h.Log.Identity(p) != other.Identity(p) || h.Log.PartitionOf("x") != other.PartitionOf("x") {
			t.Error("two engines on one log disagree about it")
		}
	}
}

type acknowledged struct {
	entry eventlog.Entry
	head  eventlog.Head
}

// race has several writers on the same workflows, on two engines, while leaders change and
// answers get lost; then it reads the log back: every acknowledged entry is there exactly once
// and every message follows directly on the one it was fenced on.
func race(t *testing.T, h Harness) {
	duration := h.RaceFor
	if duration == 0 {
		duration = 500 * time.Millisecond
	}
	logs := []eventlog.Log{h.Log, h.Second()}
	until, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var mu sync.Mutex
	var acks []acknowledged
	conflicts, unconfirmed := 0, 0
	var writers sync.WaitGroup
	for w := range 5 {
		workflow := eventlog.WorkflowName(fmt.Sprintf("w%d", w))
		for n := range 4 {
			l := logs[n%len(logs)]
			writers.Go(func() {
				head := eventlog.Head{}
				for until.Err() == nil {
					e := Entry(t, workflow, head)
					got, err := l.Append(within(t, deadline), e)
					for errors.Is(err, eventlog.ErrUnconfirmed) && t.Context().Err() == nil {
						mu.Lock()
						unconfirmed++
						mu.Unlock()
						got, err = l.Append(within(t, deadline), e)
					}
					switch {
					case errors.Is(err, eventlog.ErrConflict):
						mu.Lock()
						conflicts++
						mu.Unlock()
						for r, err := range l.ReadWorkflow(within(t, deadline), workflow, head.Seq+1) {
							if err != nil {
								break // an election: the next append conflicts again
							}
							head = r.Head()
						}
					case err != nil:
						t.Errorf("append to %s: %v", workflow, err)
						return
					default:
						head = got.Head
						mu.Lock()
						acks = append(acks, acknowledged{e, got.Head})
						mu.Unlock()
					}
				}
			})
		}
	}
	if h.Disturb != nil {
		for until.Err() == nil {
			h.Disturb(until)
			pause := time.NewTimer(time.Duration(300+rand.IntN(700)) * time.Millisecond)
			select {
			case <-pause.C:
			case <-until.Done():
			}
			pause.Stop()
		}
	}
	writers.Wait()

	found := map[eventlog.Hash][]eventlog.Head{}
	total := 0
	for _, r := range ReadAll(t, h.Log) { // checks that each names the one before it
		found[r.Hash] = append(found[r.Hash], r.Head())
		total++
	}
	for _, a := range acks {
		if at := found[a.entry.Hash()]; len(at) != 1 || at[0] != a.head {
			t.Errorf("%s acknowledged at %+v is in the log at %v", a.entry.ID, a.head, at)
		}
	}
	if len(acks) == 0 || conflicts == 0 {
		t.Errorf("%d acknowledged, %d conflicts: the writers did not race", len(acks), conflicts)
	}
	if total < len(acks) {
		t.Errorf("%d records, %d acknowledged", total, len(acks))
	}
	t.Logf("%d acknowledged of %d records, %d conflicts, %d unconfirmed", len(acks), total, conflicts, unconfirmed)
}

// closing closes the log under its writers: whatever was acknowledged is there, and what was
// said not to be written is not.
func closing(t *testing.T, h Harness) {
	var mu sync.Mutex
	acks, never := map[eventlog.Hash]bool{}, map[eventlog.Hash]bool{}
	var writers sync.WaitGroup
	started := make(chan struct{}, 64)
	other := h.Second()
	for i := range 40 {
		w := eventlog.WorkflowName(fmt.Sprintf("w%d", i))
		writers.Go(func() {
			head := eventlog.Head{}
			for n := 0; ; n++ {
				e := Entry(t, w, head)
				got, err := h.Log.Append(within(t, deadline), e)
				if n == 1 {
					started <- struct{}{}
				}
				mu.Lock()
				switch {
				case err == nil:
					acks[e.Hash()], head = true, got.Head
				case errors.Is(err, eventlog.ErrUnconfirmed):
				case errors.Is(err, eventlog.ErrClosed):
					never[e.Hash()] = true
				default:
					t.Errorf("append while closing: %v", err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	for range 40 {
		<-started
	}
	if err := h.Log.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	writers.Wait()
	if other == h.Log {
		return // closed too
	}
	for _, r := range ReadAll(t, other) {
		if never[r.Hash] {
			t.Errorf("%s revision %d was said not to be written", r.Workflow, r.Revision)
		}
		delete(acks, r.Hash)
	}
	if len(acks) != 0 {
		t.Errorf("%d acknowledged entries are not in the log", len(acks))
	}
}

func closed(t *testing.T, h Harness) {
	p := h.Log.PartitionOf("a")
	watched := make(chan error, 1)
	watching := make(chan struct{})
	mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	go func() {
		for _, err := range h.Log.Watch(within(t, deadline), p, 1) {
			if err != nil {
				watched <- err
				return
			}
			close(watching)
		}
		watched <- nil
	}()
	<-watching
	for range 2 {
		if err := h.Log.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := <-watched; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("watch ended with %v, want ErrClosed", err)
	}
	if _, err := h.Log.Append(within(t, deadline), Entry(t, "b", eventlog.Head{})); !errors.Is(err, eventlog.ErrClosed) ||
		errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("append: %v, want ErrClosed", err)
	}
	if _, err := h.Log.Last(t.Context(), p); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("last: %v, want ErrClosed", err)
	}
	for _, err := range h.Log.Read(within(t, deadline), p, 1) {
		if !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("read: %v, want ErrClosed", err)
		}
	}
	for _, err := range h.Log.ReadWorkflow(within(t, deadline), "a", 1) {
		if !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("read workflow: %v, want ErrClosed", err)
		}
	}
}

func badNames(t *testing.T, h Harness) {
	for _, w := range []eventlog.WorkflowName{"", "a.b", "*", ">", "a b", "_a", "a\n"} {
		if _, err := h.Log.Append(within(t, deadline), Entry(t, w, eventlog.Head{})); err == nil {
			t.Errorf("workflow name %q was accepted", w)
		}
	}
	if n := len(ReadAll(t, h.Log)); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

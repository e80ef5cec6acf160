package logtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// chainOf builds n entries of the workflow, each on the head that the one before leaves; sequences behind the first
// head are made up, as they are before a group is written.
func chainOf(t *testing.T, w eventlog.WorkflowName, head eventlog.Head, n int) []eventlog.Entry {
	t.Helper()
	entries := make([]eventlog.Entry, n)
	for i := range entries {
		entries[i] = Entry(t, w, head)
		head = entries[i].HeadAt(head.Seq + 1)
	}
	return entries
}

func grouping(t *testing.T, h Harness) eventlog.GroupLog {
	t.Helper()
	l, ok := h.Log.(eventlog.GroupLog)
	if !ok {
		t.Fatalf("%T writes no groups", h.Log)
	}
	return l
}

// mustWriteGroup wants all of the entries written, in order, and returns where.
func mustWriteGroup(t *testing.T, l eventlog.GroupLog, entries []eventlog.Entry) []eventlog.Written {
	t.Helper()
	written, err := l.AppendGroup(within(t, deadline), entries)
	if err != nil || len(written) != len(entries) {
		t.Fatalf("%d of %d entries written: %v", len(written), len(entries), err)
	}
	for i, w := range written {
		if i > 0 && w.Seq <= written[i-1].Seq || w.Head != entries[i].HeadAt(w.Seq) {
			t.Fatalf("entry %d stands at %+v, behind %+v", i, w.Head, written[max(0, i-1)].Head)
		}
	}
	return written
}

// groupsOfMany: many workflows write groups at once, some of them on a stale head, with single entries between them.
func groupsOfMany(t *testing.T, h Harness) {
	l := grouping(t, h)
	const workflows, rounds, size = 24, 3, 5
	var all sync.WaitGroup
	for i := range workflows {
		all.Go(func() {
			w := eventlog.WorkflowName(fmt.Sprintf("w%d", i))
			var head eventlog.Head
			for round := range rounds {
				if i%3 == 0 && round > 0 {
					if written, err := l.AppendGroup(within(t, deadline), chainOf(t, w, eventlog.Head{}, 3)); len(written) > 0 ||
						!errors.Is(err, eventlog.ErrConflict) {
						t.Errorf("a stale group: %d written, %v", len(written), err)
					}
				}
				written, err := l.AppendGroup(within(t, deadline), chainOf(t, w, head, size))
				if err != nil || len(written) != size || written[size-1].Overtaken {
					t.Errorf("%d written, %v", len(written), err)
					return
				}
				single, err := l.Append(within(t, deadline), Entry(t, w, written[size-1].Head))
				if err != nil {
					t.Error(err)
					return
				}
				head = single.Head
			}
		})
	}
	all.Wait()
	if n := len(ReadAll(t, h.Log)); n != workflows*rounds*(size+1) {
		t.Errorf("%d records, want %d", n, workflows*rounds*(size+1))
	}
}

// groupTorn: of a group whose answer was lost, a power failure has left the first entries. The same group again finds
// them and writes the rest behind.
func groupTorn(t *testing.T, h Harness) {
	l := grouping(t, h)
	for _, left := range []int{1, 2, 4} {
		w := eventlog.WorkflowName(fmt.Sprintf("torn%d", left))
		entries := chainOf(t, w, mustAppend(t, l, Entry(t, w, eventlog.Head{})), 4)
		for _, e := range entries[:left] {
			h.PutRaw(w, e.Kind, e.Stored)
		}
		for range 2 {
			written := mustWriteGroup(t, l, entries)
			if written[3].Overtaken {
				t.Errorf("overtaken by its own group: %+v", written)
			}
		}
		if n := len(readWorkflow(t, l, w, 1)); n != 5 {
			t.Errorf("%d left: %d records, want 5", left, n)
		}
	}
}

// groupTornAndTaken: another writer has written behind what is left of a group. The rest is refused, and what is
// written is known to be overtaken.
func groupTornAndTaken(t *testing.T, h Harness) {
	l := grouping(t, h)
	entries := chainOf(t, "a", eventlog.Head{}, 4)
	var last eventlog.Position
	for _, e := range entries[:2] {
		last = h.PutRaw("a", e.Kind, e.Stored)
	}
	foreign := mustAppend(t, l, Entry(t, "a", entries[1].HeadAt(last.Seq)))
	written, err := l.AppendGroup(within(t, deadline), entries)
	if len(written) != 2 || !errors.Is(err, eventlog.ErrConflict) {
		t.Fatalf("%d written, %v; want 2 and ErrConflict", len(written), err)
	}
	mustAppend(t, l, Entry(t, "a", foreign))
}

// groupLost: no answer comes through. Once answers do, the same group is appended again: each entry is written once, in
// order.
func groupLost(t *testing.T, h Harness) {
	l := grouping(t, h)
	head := eventlog.Head{}
	for range 3 {
		entries := chainOf(t, "a", head, 5)
		h.LoseAnswers(true)
		written, err := l.AppendGroup(within(t, 250*time.Millisecond), entries)
		h.LoseAnswers(false)
		if !errors.Is(err, eventlog.ErrUnconfirmed) {
			t.Fatalf("a group without an answer: %+v, %v; want ErrUnconfirmed", written, err)
		}
		rest := entries[len(written):]
		if len(written) > 0 {
			rest[0].Expected.Seq = written[len(written)-1].Seq
		}
		head = mustWriteGroup(t, l, rest)[len(rest)-1].Head
	}
	if n := len(ReadAll(t, h.Log)); n != 15 {
		t.Errorf("%d records, want 15", n)
	}
}

// groupLostAndTaken: no answer to a group comes through, and another writer goes on behind it.
func groupLostAndTaken(t *testing.T, h Harness) {
	l := grouping(t, h)
	entries := chainOf(t, "a", eventlog.Head{}, 3)
	for i := range entries { // as the server has carried them out
		entries[i].Expected.Seq = h.PutRaw("a", entries[i].Kind, entries[i].Stored).Seq
	}
	behind := entries[2].HeadAt(entries[2].Expected.Seq)
	entries[0].Expected.Seq = 0
	mustAppend(t, l, Entry(t, "a", behind))
	written, err := l.AppendGroup(within(t, deadline), entries)
	if err != nil || len(written) != 3 || !written[2].Overtaken {
		t.Fatalf("%+v, %v; want three, overtaken", written, err)
	}
}

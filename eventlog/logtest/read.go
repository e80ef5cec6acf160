package logtest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

func readsBack(t *testing.T, h Harness) {
	if all := ReadAll(t, h.Log); len(all) != 0 {
		t.Fatalf("a new log holds %d records", len(all))
	}
	e := Entry(t, "a", eventlog.Head{})
	head := mustAppend(t, h.Log, e)
	all := ReadAll(t, h.Log)
	if len(all) != 1 {
		t.Fatalf("%d records, want 1", len(all))
	}
	want, err := eventlog.Decode(e.Stored)
	if err != nil {
		t.Fatal(err)
	}
	r := all[0]
	if !reflect.DeepEqual(r.Transition, want) || r.Hash != e.Hash() || r.Size != len(e.Stored) {
		t.Errorf("read %+v, want %+v", r, want)
	}
	if r.Head() != head || head.Revision != 1 || head.Hash != e.Hash() {
		t.Errorf("head %+v, the record's is %+v", head, r.Head())
	}
	if p := h.Log.PartitionOf("a"); r.Position != (eventlog.Position{Partition: p, Seq: head.Seq}) {
		t.Errorf("position %s, want partition %d", r.Position, p)
	}
	last, err := h.Log.Last(t.Context(), h.Log.PartitionOf("a"))
	if err != nil || last != head.Seq {
		t.Errorf("last is %d, %v; want %d", last, err, head.Seq)
	}
}

func dense(t *testing.T, h Harness) {
	heads := fill(t, h.Log, 5, "a", "b", "c")
	seen := map[eventlog.WorkflowName]int{}
	for _, r := range ReadAll(t, h.Log) { // ReadAll checks revisions and hashes
		seen[r.Workflow]++
	}
	for w, head := range heads {
		if head.Revision != 5 || seen[w] != 5 {
			t.Errorf("%s ends at revision %d with %d records, want 5", w, head.Revision, seen[w])
		}
	}
	for p := range h.Log.Partitions() {
		for q := range p {
			if h.Log.Identity(p) == h.Log.Identity(q) {
				t.Errorf("partitions %d and %d have the same identity", p, q)
			}
		}
	}
}

func middle(t *testing.T, h Harness) {
	heads := fill(t, h.Log, 20, "a", "b") // more of one workflow than is read one by one
	p := h.Log.PartitionOf("a")
	whole := map[eventlog.Position]eventlog.Hash{}
	for _, r := range ReadAll(t, h.Log) {
		whole[r.Position] = r.Hash
	}
	last, err := h.Log.Last(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []uint64{0, 1, 3, last, last + 1, last + 10} {
		next := max(from, 1)
		for r, err := range h.Log.Read(within(t, deadline), p, from) {
			if err != nil || r.Position.Seq != next || whole[r.Position] != r.Hash {
				t.Fatalf("from %d: got %s, %v; want sequence %d", from, r.Position, err, next)
			}
			next++
		}
		if want := max(last+1, max(from, 1)); next != want {
			t.Errorf("from %d: ended before %d, want %d", from, next, want)
		}
	}
	all := readWorkflow(t, h.Log, "a", 0)
	if len(all) != 20 || all[19].Head() != heads["a"] {
		t.Fatalf("read %d of a, want 20", len(all))
	}
	rest := readWorkflow(t, h.Log, "a", all[2].Position.Seq+1)
	if len(rest) != 17 || rest[0].Revision != 4 {
		t.Errorf("read %d of a after revision 3, want 17", len(rest))
	}
	if none := readWorkflow(t, h.Log, "a", heads["a"].Seq+1); len(none) != 0 {
		t.Errorf("read %d of a after its head", len(none))
	}
	if none := readWorkflow(t, h.Log, "nobody", 1); len(none) != 0 {
		t.Errorf("read %d of a workflow that does not exist", len(none))
	}
}

func stops(t *testing.T, h Harness) {
	fill(t, h.Log, 3, "a")
	p, n := h.Log.PartitionOf("a"), 0
	for range h.Log.Read(within(t, deadline), p, 1) {
		n++
		break
	}
	for range h.Log.Watch(within(t, deadline), p, 1) {
		n++
		break
	}
	for range h.Log.ReadWorkflow(within(t, deadline), "a", 1) {
		n++
		break
	}
	if n != 3 {
		t.Errorf("%d iterations, want 3", n)
	}
	for _, err := range h.Log.Read(within(t, deadline), h.Log.Partitions(), 1) {
		if err == nil {
			t.Error("read a partition that does not exist")
		}
	}
}

func unreadable(t *testing.T, h Harness) {
	fill(t, h.Log, 2, "a")
	bad := h.PutRaw("a", "workflow.paused", []byte("no transition"))
	foreign := h.PutRaw("a", "workflow.paused", Entry(t, "other", eventlog.Head{}).Stored)
	var broken []eventlog.Position
	fine := 0
	for r, err := range h.Log.Read(within(t, deadline), h.Log.PartitionOf("a"), 1) {
		switch {
		case err == nil:
			fine++
		case errors.Is(err, eventlog.ErrUnreadable) && r.Workflow == "a":
			broken = append(broken, r.Position)
		default:
			t.Fatalf("%s: %v", r.Position, err)
		}
	}
	if fine != 2 || !reflect.DeepEqual(broken, []eventlog.Position{bad, foreign}) {
		t.Errorf("%d readable, unreadable at %v; want 2 and %v", fine, broken, []eventlog.Position{bad, foreign})
	}
	n := 0
	for _, err := range h.Log.ReadWorkflow(within(t, deadline), "a", bad.Seq) {
		if !errors.Is(err, eventlog.ErrUnreadable) {
			t.Errorf("read the workflow: %v, want ErrUnreadable", err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func watchFollows(t *testing.T, h Harness) {
	heads := fill(t, h.Log, 2, "a")
	p := h.Log.PartitionOf("a")
	ctx, cancel := context.WithCancel(within(t, deadline))
	got := make(chan eventlog.Record)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r, err := range h.Log.Watch(ctx, p, 2) {
			if err != nil {
				t.Errorf("watch: %v", err)
				return
			}
			got <- r
		}
	}()
	next := func(want uint64) {
		t.Helper()
		select {
		case r := <-got:
			if r.Position.Seq != want {
				t.Errorf("watched %d, want %d", r.Position.Seq, want)
			}
		case <-ctx.Done():
			t.Fatalf("waited in vain for %d", want)
		}
	}
	next(2)
	head := heads["a"]
	for range 3 {
		head = mustAppend(t, h.Log, Entry(t, "a", head))
		next(head.Seq)
	}
	cancel()
	<-ended
}

package logtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Run runs the suite. open returns a fresh, empty log each time.
func Run(t *testing.T, open func(*testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"ReadsBackWhatWasAcknowledged", readsBack},
		{"RevisionsAreDense", dense},
		{"StaleHeadConflicts", stale},
		{"HeadThatIsNotThere", ahead},
		{"SameEntryAgain", again},
		{"LostAcknowledgement", lostAck},
		{"LostAcknowledgementThenTaken", lostAndTaken},
		{"OvertakenIsSaid", overtaken},
		{"LostConflict", lostConflict},
		{"ContextEnds", contextEnds},
		{"TooLarge", tooLarge},
		{"LargestFits", largest},
		{"ReadFromTheMiddle", middle},
		{"ReadStopsWhenTold", stops},
		{"UnreadableRecord", unreadable},
		{"WatchFollows", watchFollows},
		{"GroupWithConflicts", group},
		{"C10_GroupsOfManyWorkflows", groupsOfMany},
		{"C10_TornGroup", groupTorn},
		{"C10_TornGroupThenTaken", groupTornAndTaken},
		{"C10_LostGroup", groupLost},
		{"C10_LostGroupThenTaken", groupLostAndTaken},
		{"SecondEngine", second},
		{"WritersRace", race},
		{"CloseWhileAppending", closing},
		{"ClosedLog", closed},
		{"NamesAreChecked", badNames},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

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

func stale(t *testing.T, h Harness) {
	first := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	mustAppend(t, h.Log, Entry(t, "a", first))
	for _, head := range []eventlog.Head{{}, first} {
		_, err := h.Log.Append(within(t, deadline), Entry(t, "a", head))
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, eventlog.ErrConflict) {
			t.Fatalf("append on stale head %+v: %v", head, err)
		}
		if conflict.Workflow != "a" || conflict.Expected != head {
			t.Errorf("conflict says %+v", conflict)
		}
	}
	if n := len(ReadAll(t, h.Log)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	mustAppend(t, h.Log, Entry(t, "b", eventlog.Head{})) // others are not affected
}

func ahead(t *testing.T, h Harness) {
	head := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	head.Revision, head.Seq = 7, head.Seq+100
	if _, err := h.Log.Append(within(t, deadline), Entry(t, "a", head)); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("append on a head that the log lacks: %v, want ErrDamaged", err)
	}
	if n := len(ReadAll(t, h.Log)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func again(t *testing.T, h Harness) {
	e := Entry(t, "a", eventlog.Head{})
	first := mustAppend(t, h.Log, e)
	if got := mustAppend(t, h.Log, e); got != first {
		t.Errorf("the same entry again: %+v, want %+v", got, first)
	}
	after := mustAppend(t, h.Log, Entry(t, "a", first))
	if got := mustAppend(t, h.Log, e); got != first {
		t.Errorf("the same entry later: %+v, want %+v", got, first)
	}
	mustAppend(t, h.Log, Entry(t, "a", after))
	if n := len(ReadAll(t, h.Log)); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
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

func lostAck(t *testing.T, h Harness) {
	head := eventlog.Head{}
	for range 3 {
		e := Entry(t, "a", head)
		unsettle(t, h, e)
		head = mustAppend(t, h.Log, e)
	}
	if all := ReadAll(t, h.Log); len(all) != 3 || all[2].Head() != head {
		t.Errorf("%d records, want 3 ending in %+v", len(all), head)
	}
}

// lostAndTaken: others go on behind a written entry before its writer learns of it.
func lostAndTaken(t *testing.T, h Harness) {
	e := Entry(t, "a", eventlog.Head{})
	unsettle(t, h, e)
	written := readWorkflow(t, h.Log, "a", 1)
	if len(written) != 1 {
		t.Fatalf("%d records, want 1", len(written))
	}
	mustAppend(t, h.Log, Entry(t, "a", written[0].Head()))
	if head := mustAppend(t, h.Log, e); head != written[0].Head() {
		t.Errorf("settled at %+v, want %+v", head, written[0].Head())
	}
}

// overtaken: an append whose acknowledgement is lost, and which the log settles, says whether others have
// gone on behind the entry meanwhile.
func overtaken(t *testing.T, h Harness) {
	first := mustWrite(t, h.Log, Entry(t, "a", eventlog.Head{}))
	e := Entry(t, "a", first.Head)
	h.LoseAnswers(true)
	settled := make(chan eventlog.Written, 1)
	go func() {
		defer close(settled)
		for ctx := within(t, deadline); ; {
			written, err := h.Log.Append(ctx, e)
			switch {
			case err == nil:
				settled <- written
				return
			case !errors.Is(err, eventlog.ErrUnconfirmed) || ctx.Err() != nil:
				t.Errorf("append without an answer: %v", err)
				return
			}
			runtime.Gosched()
		}
	}()
	var head eventlog.Head
	for r, err := range h.Log.Watch(within(t, deadline), h.Log.PartitionOf("a"), first.Head.Seq+1) {
		if err != nil {
			t.Fatal(err)
		}
		head = r.Head()
		break
	}
	other := h.PutRaw("a", "workflow.paused", Entry(t, "a", head).Stored)
	h.LoseAnswers(false)
	if got := <-settled; got != (eventlog.Written{Head: head, Overtaken: true}) {
		t.Errorf("settled behind %s: %+v, want head %+v and that it was overtaken", other, got, head)
	}
	if got := mustWrite(t, h.Log, e); !got.Overtaken || got.Head != head {
		t.Errorf("the same entry again: %+v, want head %+v and that it was overtaken", got, head)
	}

	alone := Entry(t, "b", eventlog.Head{})
	unsettle(t, h, alone)
	if got := mustWrite(t, h.Log, alone); first.Overtaken || got.Overtaken {
		t.Errorf("overtaken by nothing: %+v, %+v", first, got)
	}
}

// lostConflict: an entry that was refused, without its writer learning of it, stays refused.
func lostConflict(t *testing.T, h Harness) {
	head := mustAppend(t, h.Log, Entry(t, "a", eventlog.Head{}))
	e := Entry(t, "a", eventlog.Head{})
	unsettle(t, h, e)
	for range 2 {
		if _, err := h.Log.Append(within(t, deadline), e); !errors.Is(err, eventlog.ErrConflict) {
			t.Errorf("settle a refused entry: %v, want ErrConflict", err)
		}
	}
	mustAppend(t, h.Log, Entry(t, "a", head))
}

func contextEnds(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := Entry(t, "a", eventlog.Head{})
	head, err := h.Log.Append(ctx, e)
	if err != nil && (!errors.Is(err, eventlog.ErrUnconfirmed) || !errors.Is(err, context.Canceled)) {
		t.Fatalf("append with an ended context: %v, want ErrUnconfirmed", err)
	}
	if settled := mustAppend(t, h.Log, e); err == nil && settled != head.Head {
		t.Errorf("settled at %+v, was acknowledged at %+v", settled, head.Head)
	}
	if n := len(ReadAll(t, h.Log)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	for _, err := range h.Log.Read(ctx, h.Log.PartitionOf("a"), 1) {
		if err == nil {
			t.Error("a read with an ended context went on")
		}
	}
	for _, err := range h.Log.Watch(ctx, h.Log.PartitionOf("a"), 1) {
		t.Errorf("a watch with an ended context yielded (%v)", err)
	}
}

func tooLarge(t *testing.T, h Harness) {
	if _, err := h.Log.Append(within(t, deadline), PaddedEntry(t, "a", eventlog.Head{}, h.Log.MaxSize())); !errors.Is(err,
		eventlog.ErrTooLarge) {
		t.Errorf("append more than MaxSize: %v, want ErrTooLarge", err)
	}
	if n := len(ReadAll(t, h.Log)); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

func largest(t *testing.T, h Harness) {
	small := len(PaddedEntry(t, "a", eventlog.Head{}, 1<<16).Stored) - 1<<16 // same length prefixes
	e := PaddedEntry(t, "a", eventlog.Head{}, h.Log.MaxSize()-small)
	if len(e.Stored) != h.Log.MaxSize() {
		t.Fatalf("entry has %d bytes, want %d", len(e.Stored), h.Log.MaxSize())
	}
	mustAppend(t, h.Log, e)
	if all := ReadAll(t, h.Log); len(all) != 1 || all[0].Size != len(e.Stored) {
		t.Errorf("read %d records", len(all))
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

// group appends for many workflows at once, every third on a stale head: the stale ones must not
// take the others with them.
func group(t *testing.T, h Harness) {
	const n = 90
	heads := make([]eventlog.Head, n)
	name := func(i int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprintf("w%d", i)) }
	for round := range 3 {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				expected, wantConflict := heads[i], round > 0 && i%3 == 0
				if wantConflict {
					expected = eventlog.Head{}
				}
				written, err := h.Log.Append(within(t, deadline), Entry(t, name(i), expected))
				switch {
				case wantConflict != errors.Is(err, eventlog.ErrConflict) || !wantConflict && err != nil:
					t.Errorf("round %d, workflow %d: %v", round, i, err)
				case !wantConflict:
					heads[i] = written.Head
				}
			})
		}
		all.Wait()
	}
	want := map[eventlog.Head]bool{}
	for _, head := range heads {
		want[head] = true
	}
	for _, r := range ReadAll(t, h.Log) {
		delete(want, r.Head())
	}
	if len(want) != 0 {
		t.Errorf("%d acknowledged heads are not in the log", len(want))
	}
}

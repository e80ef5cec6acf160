package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
)

var errKilled = errors.New("killed")

// manyLost is a log of a workflow whose second record cannot be read; what stands behind it tells of so many events
// that an acceptance takes several transitions.
func manyLost(t *testing.T, fault func(eventlog.Entry) memlog.Fault) *memlog.Log {
	t.Helper()
	l := memlog.New(memlog.Config{Fault: fault})
	b := enginetest.NewOn(t, l)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	var head eventlog.Head
	for r, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		head = r.Head()
	}
	add := func(facts ...eventlog.Fact) uint64 {
		t.Helper()
		entry, err := eventlog.NewEntry(eventlog.Transition{
			ID: eventlog.TransitionID(fmt.Sprint("t", head.Revision)), Workflow: "orders",
			At: eventlog.At(time.Unix(1700000000, 0)), Actor: eventlog.System,
			Cause: eventlog.Cause{Kind: "test"}, Kind: facts[0].FactType(), Facts: facts,
		}, head)
		if err != nil {
			t.Fatal(err)
		}
		written, err := l.Append(t.Context(), entry)
		if err != nil {
			t.Fatal(err)
		}
		head = written.Head
		return written.Seq
	}
	spoilt := add(&eventlog.WorkflowPaused{})
	for part := range 5 {
		var facts []eventlog.Fact
		for i := range 500 {
			id := eventlog.MessageID(fmt.Sprintf("m%04d", 500*part+i))
			facts = append(facts, &eventlog.EventPublished{
				Topic: "order.in", MessageID: id, Title: string(id), Payload: []byte("{}"),
			})
			if i%3 == 0 {
				facts = append(facts, &eventlog.EventConsumed{Topic: "order.in", MessageID: id})
			}
		}
		add(facts...)
	}
	l.Spoil(eventlog.Position{Seq: spoilt})
	return l
}

// outcome is what an acceptance has made of the workflow's events, and whether it is held.
func outcome(t *testing.T, l *memlog.Log) (all []string) {
	t.Helper()
	s := new(projections.State)
	for r, err := range l.ReadWorkflow(t.Context(), "orders", 1) {
		if err == nil {
			s, err = projections.Apply(s, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range s.Events() {
		all = append(all, fmt.Sprint(e.MessageID, " ", e.Status, " ", e.Unknown))
	}
	slices.Sort(all)
	return append(all, fmt.Sprint(s.Blocked != nil && s.Blocked.Reason == eventlog.BlockLoss, s.Grants))
}

// TestLossInterrupted: an acceptance that is killed after any of its parts, and repeated, ends as one that was not.
func TestLossInterrupted(t *testing.T) {
	t.Parallel()
	lost := loss.Loss{
		Actor: enginetest.Tester, At: eventlog.At(time.Unix(1700000000, 0)), Cause: eventlog.Cause{Kind: "test"},
	}
	var want []string
	for k := 0; ; k++ {
		l, err := acceptUntil(t, k, lost)
		if k > 0 && err == nil { // it has fewer parts
			if k < 4 {
				t.Errorf("%d parts, want several", k-1)
			}
			return
		}
		if k > 0 {
			if !errors.Is(err, eventlog.ErrFull) {
				t.Fatalf("interrupted at part %d: %v", k, err)
			}
			_, err = loss.Record(t.Context(), l, lost)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := outcome(t, l)
		if k == 0 {
			if want = got; len(want) != 2501 {
				t.Fatalf("%d events, want 2500", len(want)-1)
			}
			continue
		}
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("interrupted at part %d: %d events, %q; want %d, %q", k, len(got)-1, got[i], len(want)-1, want[i])
				}
			}
			t.Fatalf("interrupted at part %d: %d events, want %d", k, len(got)-1, len(want)-1)
		}
		// What is recorded is left alone.
		before, _ := l.Last(t.Context(), 0)
		if held, err := loss.Record(t.Context(), l, lost); err != nil || len(held) > 0 {
			t.Errorf("repeated: %+v, %v", held, err)
		}
		if after, _ := l.Last(t.Context(), 0); after != before {
			t.Errorf("a repeated acceptance has written %d transitions", after-before)
		}
	}
}

// acceptUntil accepts the loss of manyLost, and is killed before its k-th transition if it has as many.
func acceptUntil(t *testing.T, k int, lost loss.Loss) (*memlog.Log, error) {
	t.Helper()
	accepting, appended := false, 0
	l := manyLost(t, func(eventlog.Entry) memlog.Fault {
		if accepting {
			if appended++; appended == k {
				return memlog.Full
			}
		}
		return memlog.None
	})
	accepting = true
	_, err := loss.Record(t.Context(), l, lost)
	return l, err
}

// interruptedAt is the log of an acceptance that was killed before its k-th transition.
func interruptedAt(t *testing.T, k int, lost loss.Loss) *memlog.Log {
	t.Helper()
	l, err := acceptUntil(t, k, lost)
	if !errors.Is(err, eventlog.ErrFull) {
		t.Fatalf("interrupted at part %d: %v", k, err)
	}
	return l
}

// TestLossInterruptedBeforeABreak: an acceptance is killed between two of its parts, and what stands behind the first
// part cannot be followed. All that was set aside is read again: none of its events may come as a new one.
func TestLossInterruptedBeforeABreak(t *testing.T) {
	t.Parallel()
	lost := loss.Loss{
		Actor: enginetest.Tester, At: eventlog.At(time.Unix(1700000000, 0)), Cause: eventlog.Cause{Kind: "test"},
	}
	l := interruptedAt(t, 2, lost)
	var head eventlog.Head
	for r, err := range l.ReadWorkflow(t.Context(), "orders", 1) {
		if err != nil {
			t.Fatal(err)
		}
		head = r.Head()
	}
	entry, err := eventlog.NewEntry(eventlog.Transition{
		ID: "unfoldable", Workflow: "orders", At: lost.At, Actor: eventlog.System, Cause: lost.Cause, Kind: "event.consumed",
		Facts: []eventlog.Fact{&eventlog.EventConsumed{Topic: "order.in", MessageID: "of another version"}},
	}, head)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	if _, err := loss.Record(t.Context(), l, lost); err != nil {
		t.Fatal(err)
	}
	whole := manyLost(t, nil)
	if _, err := loss.Record(t.Context(), whole, lost); err != nil {
		t.Fatal(err)
	}
	got, want := outcome(t, l), outcome(t, whole)
	got = slices.DeleteFunc(got, func(e string) bool { return strings.HasPrefix(e, "of another version") })
	if !slices.Equal(got, want) {
		t.Errorf("%d events and their ends, want the %d of an acceptance that was not interrupted", len(got)-1, len(want)-1)
	}
}

// TestLossInterruptedSaysWhatIsLost: what a repeated acceptance does not find any more is named by what was set aside.
func TestLossInterruptedSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	lost := loss.Loss{
		Actor: enginetest.Tester, At: eventlog.At(time.Unix(1700000000, 0)), Cause: eventlog.Cause{Kind: "test"},
	}
	for k := 1; k <= 3; k++ {
		l := interruptedAt(t, k, lost)
		if _, err := loss.Record(t.Context(), l, lost); err != nil {
			t.Fatal(err)
		}
		var accepted *eventlog.LossAccepted
		for r, err := range l.ReadWorkflow(t.Context(), "orders", 1) {
			if err != nil {
				t.Fatal(err)
			}
			for _, fact := range r.Facts {
				if f, ok := fact.(*eventlog.LossAccepted); ok {
					accepted = f
				}
			}
		}
		if accepted == nil || !strings.Contains(accepted.Detail, "were set aside by an earlier acceptance") {
			t.Errorf("killed at part %d: %+v", k, accepted)
		}
	}
}

// TestLossWithoutReport: if the calls cannot be listed, nothing is changed.
func TestLossWithoutReport(t *testing.T) {
	t.Parallel()
	k, _, end := withGarbage(t)
	report := func([]loss.GivenUp) error { return errKilled }
	_, err := loss.Record(t.Context(), k, loss.Loss{End: true, Report: report})
	if !errors.Is(err, errKilled) {
		t.Errorf("%v, want what the report says", err)
	}
	if last, err := k.Last(t.Context(), 0); err != nil || last != end || len(k.asides) > 0 || k.namesLost {
		t.Errorf("the log ends at %d, %v, want %d; set aside: %+v; names lost: %v", last, err, end, k.asides, k.namesLost)
	}
}

// TestLossThatFitsInPart: what fits is kept and recorded, the rest stays out of service; once there is room, a repeated
// acceptance goes on with it.
func TestLossThatFitsInPart(t *testing.T) {
	t.Parallel()
	k := &keeper{Log: memlog.New(memlog.Config{}), room: 1}
	names := []eventlog.WorkflowName{"first", "second"}
	for _, name := range names {
		var head eventlog.Head
		for i := range 2 {
			entry, err := eventlog.NewEntry(eventlog.Transition{
				ID: eventlog.TransitionID(fmt.Sprint(name, i)), Workflow: name,
				At: eventlog.At(time.Unix(1700000000, 0)), Actor: eventlog.System,
				Cause: eventlog.Cause{Kind: "test"}, Kind: "event.published",
				Facts: []eventlog.Fact{&eventlog.EventPublished{
					Topic: "t", MessageID: eventlog.MessageID(fmt.Sprint(i)), Title: "t", Payload: []byte("{}"),
				}},
			}, head)
			if err != nil {
				t.Fatal(err)
			}
			written, err := k.Append(t.Context(), entry)
			if err != nil {
				t.Fatal(err)
			}
			head = written.Head
		}
		k.PutRaw(name, []byte("garbage"))
	}
	log := &passing{k}
	accept := func() []loss.LostPast {
		t.Helper()
		found, err := loss.Record(t.Context(), log, loss.Loss{
			Actor: enginetest.Tester, At: eventlog.At(time.Unix(1700000000, 0)), Cause: eventlog.Cause{Kind: "test"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	found := accept()
	if len(found) != 2 || found[0].Workflow != "first" || found[0].Broken ||
		found[1].Workflow != "second" || !found[1].Broken {
		t.Fatalf("found %+v, want the first one held and the second broken", found)
	}
	if last, err := k.Last(t.Context(), 0); err != nil || last != 7 {
		t.Errorf("the log ends at %d, %v, want one more record", last, err)
	}
	if found := accept(); len(found) != 1 || found[0].Workflow != "second" || found[0].Broken {
		t.Errorf("repeated: %+v, want the second one held", found)
	}
	if found := accept(); len(found) != 0 {
		t.Errorf("once more: %+v, want nothing", found)
	}
}

// TestNamesLost: the log remembers that workflows may be lost with their names, unless nothing is missing. It is not
// known to be otherwise without a store.
func TestNamesLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost loss.Loss
		want bool
	}{
		"nothing":      {loss.Loss{}, false},
		"the end":      {loss.Loss{End: true}, true},
		"one workflow": {loss.Loss{Only: true, End: true, Workflows: []eventlog.WorkflowName{"orders"}}, false},
	} {
		k, _, _ := withGarbage(t)
		k.record(t, c.lost)
		if k.namesLost != c.want {
			t.Errorf("%s: %v, want %v", name, k.namesLost, c.want)
		}
	}
}

// TestConfirmNames: a person's word ends that unknown names are held, and the log holds it. If it cannot be recorded,
// they are still held.
func TestConfirmNames(t *testing.T) {
	t.Parallel()
	full := false
	l := memlog.New(memlog.Config{Fault: func(eventlog.Entry) memlog.Fault {
		if full {
			return memlog.Full
		}
		return memlog.None
	}})
	at, cause := eventlog.At(time.Unix(1700000000, 0)), eventlog.Cause{Kind: "test"}
	confirm := func() error { return loss.ConfirmNames(t.Context(), l, enginetest.Tester, at, cause) }
	if err := confirm(); err != nil || loss.NamesLost(l) {
		t.Errorf("while none is lost: %v, lost: %v", err, loss.NamesLost(l))
	}
	if last, err := l.Last(t.Context(), 0); err != nil || last != 0 {
		t.Errorf("it has written up to %d, %v", last, err)
	}
	if err := l.Recorded(t.Context(), 0, true); err != nil || !loss.NamesLost(l) {
		t.Fatalf("%v, lost: %v", err, loss.NamesLost(l))
	}
	full = true
	if err := confirm(); !errors.Is(err, eventlog.ErrFull) || !loss.NamesLost(l) {
		t.Errorf("not recorded: %v, lost: %v", err, loss.NamesLost(l))
	}
	full = false
	if err := confirm(); err != nil || loss.NamesLost(l) {
		t.Errorf("%v, lost: %v", err, loss.NamesLost(l))
	}
	var said []eventlog.Record
	for r, err := range l.ReadWorkflow(t.Context(), eventlog.Installation, 1) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, r)
	}
	if len(said) != 1 || said[0].Kind != "workflow.loss_accepted" || said[0].Actor != enginetest.Tester {
		t.Errorf("recorded: %+v", said)
	}
}

// TestStillHeld: what an acceptance has given up can be told again from the log, until a person resumes the workflow.
func TestStillHeld(t *testing.T) {
	t.Parallel()
	k, _, _ := withGarbage(t)
	if held, err := loss.StillHeld(t.Context(), k); err != nil || len(held) > 0 {
		t.Errorf("before: %+v, %v", held, err)
	}
	k.record(t, loss.Loss{})
	log := &passing{k}
	held, err := loss.StillHeld(t.Context(), log)
	if err != nil || len(held) != 1 || held[0].Workflow != "orders" || held[0].GivenUp != 1 || held[0].Undecided != 1 ||
		!strings.Contains(held[0].Why, "count no more") {
		t.Fatalf("%+v, %v", held, err)
	}
	last := eventlog.Record{}
	for r, err := range log.ReadWorkflow(t.Context(), "orders", 1) {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	entry, err := eventlog.NewEntry(eventlog.Transition{
		ID: "resumed", Workflow: "orders", At: 1, Actor: enginetest.Tester, Cause: eventlog.Cause{Kind: "test"},
		Kind: "workflow.unblocked", Facts: []eventlog.Fact{&eventlog.WorkflowUnblocked{}},
	}, last.Head())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	if held, err := loss.StillHeld(t.Context(), log); err != nil || len(held) > 0 {
		t.Errorf("once resumed: %+v, %v", held, err)
	}
}

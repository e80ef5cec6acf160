package decide_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// cut is a workflow's past at the place from which on it is given up later.
type cut struct {
	state   *projections.State
	store   map[projections.Key]any
	phases  map[eventlog.RunID]eventlog.Phase
	ended   map[eventlog.RunID]bool
	started map[eventlog.MutationID]bool
}

// cut notes where the past ends that is left: what the commands after it record is given up with accept-loss.
func (b *bench) cut() {
	b.cutAt, b.lost = &cut{b.state, maps.Clone(b.store), maps.Clone(b.phases), maps.Clone(b.ended), maps.Clone(b.started)},
		nil
}

// acceptLoss accepts the loss of what was recorded since the cut: `unread` where none of it can be read, `whole`
// where the store has folded all of it, `stored` where it has and more may be missing. Repeated, it goes on
// with the next part of it.
func (b *bench) acceptLoss(w words) error {
	if at := b.cutAt; at != nil {
		stored, stores := b.store, w.has("whole") || w.has("stored")
		b.state, b.store, b.phases, b.ended, b.started, b.cutAt = at.state, at.store, at.phases, at.ended, at.started, nil
		b.remains = &decide.Remains{Whole: w.has("whole")}
		for _, r := range b.lost {
			for _, f := range r.Facts {
				if !w.has("unread") && !stores {
					b.remains.Saw(f, r.At)
				}
			}
		}
		if stores {
			b.found(stored)
		}
	}
	for k, row := range b.store { // the state holds all of the history
		if b.state.Entity(k) == nil {
			b.state = b.state.Hydrate(row)
		}
	}
	b.reported = nil
	for _, call := range b.remains.Calls(b.state) {
		var events []string
		for _, ref := range call.Events {
			events = append(events, fmt.Sprintf("%s/%s", ref.Topic, ref.MessageID))
		}
		b.reported = append(b.reported, fmt.Sprintf("%s (%s) %s", call.Mutation, call.Status, strings.Join(events, " ")))
	}
	c := decide.AcceptLoss{Detail: "test", Remains: b.remains, Kept: w.has("kept")}
	if w.has("one-by-one") {
		c.Max = 1
	}
	hold := b.hold
	b.hold = decide.EngineStandstill // no engine runs
	defer func() { b.hold = hold }()
	return b.do(c)
}

// found takes in what the store has folded.
func (b *bench) found(stored map[projections.Key]any) {
	core := stored[projections.WorkflowKey()].(*projections.Workflow)
	b.remains.Found(core)
	byName := func(x, y projections.Key) int { return strings.Compare(x.ID, y.ID) }
	for _, k := range slices.SortedFunc(maps.Keys(stored), byName) {
		if script, ok := stored[k].(*projections.Script); !ok || script.Version == core.Version {
			b.remains.Found(stored[k])
		}
	}
}

// granted shows a workflow's, in their order.
func granted(s *projections.State) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Grants)) {
		out = append(out, name+"="+string(s.Grants[name]))
	}
	return strings.Join(out, " ")
}

// O11: what an accepted loss has ended, and a person has then called handled, still needs --including-unknown after a
// further loss that goes back behind the first.
func TestO11_HandledAfterAnEarlierLoss(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy", "push a", "cancel a")
	b.remains = &decide.Remains{}
	for _, f := range []eventlog.Fact{
		&eventlog.EventRedriven{Topic: "in", MessageID: "a"},
		&eventlog.EventReserved{Topic: "in", MessageID: "a", Run: "R9"},
		&eventlog.EventGivenUp{Topic: "in", MessageID: "a", Status: eventlog.EventStatusSkipped, Unknown: true},
		&eventlog.EventSkipped{Topic: "in", MessageID: "a"},
	} {
		b.remains.Saw(f, b.now)
	}
	b.must("accept-loss", "resume")
	var no *decide.Refusal
	if err := b.command("redrive a"); !errors.As(err, &no) || no.Code != decide.CodeUnknown {
		t.Errorf("the redrive ends with %v", err)
	}
}

// O11: so it is where the store alone knows that the event has needed consent: for one that has ended again, and for
// one that is known to wait.
func TestO11_TheStoreKnowsOfConsent(t *testing.T) {
	t.Parallel()
	for status, whole := range map[eventlog.EventStatus]bool{
		eventlog.EventStatusSkipped: false, eventlog.EventStatusPending: true,
	} {
		b := newBench(t)
		b.must("deploy n=1", "pause", "push a", "cancel a")
		b.remains = &decide.Remains{Whole: whole}
		b.remains.Found(&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "T", Payload: []byte("null"),
			Status: status, WasUnknown: true})
		b.must("accept-loss", "resume")
		if whole {
			b.must(fmt.Sprintf("prepare fail precondition run=%s", b.state.OpenRun("in", "a").ID))
		}
		var no *decide.Refusal
		if err := b.command("redrive a"); !errors.As(err, &no) || no.Code != decide.CodeUnknown {
			t.Errorf("%s: the redrive ends with %v", status, err)
		}
	}
}

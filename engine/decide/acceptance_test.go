package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Where the engine itself accepts a lost end, an event that waits in the log and in the local store goes on
// waiting: knowing more of it does not end it. What the store has folded of it newer is taken over.
func TestKeptEventsStay(t *testing.T) {
	for name, c := range map[string]struct {
		stored *projections.TopicEvent
		status eventlog.EventStatus
		title  string
	}{
		"unknown to the store": {nil, eventlog.EventStatusPending, "T1"},
		"it waits": {&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "T1", Payload: []byte(`null`),
			Status: eventlog.EventStatusPending}, eventlog.EventStatusPending, "T1"},
		"it waits and is changed": {&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "new", Payload: []byte(`1`),
			Status: eventlog.EventStatusPending}, eventlog.EventStatusPending, "new"},
		"it was consumed": {&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "T1", Payload: []byte(`null`),
			Status: eventlog.EventStatusConsumed}, eventlog.EventStatusConsumed, "T1"},
		"it was reserved": {&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "T1", Payload: []byte(`null`),
			Status: eventlog.EventStatusReserved}, eventlog.EventStatusSkipped, "T1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.hold = decide.EngineStandstill
			b.must("deploy c:in")
			if err := b.do(decide.Push{Topic: "in",
				Items: []decide.PushItem{{MessageID: "a", Title: "T1", Payload: []byte(`null`)}}}); err != nil {
				t.Fatal(err)
			}
			remains := &decide.Remains{}
			if c.stored != nil {
				remains.Found(c.stored)
			}
			if err := b.do(decide.AcceptLoss{Detail: "test", Remains: remains, Kept: true}); err != nil {
				t.Fatal(err)
			}
			e := b.store[projections.EventKey("in", "a")].(*projections.TopicEvent)
			if e.Status != c.status || e.Title != c.title {
				t.Errorf("it is %s with the title %q, want %s and %q", e.Status, e.Title, c.status, c.title)
			}
		})
	}
}

// Each transition of an acceptance stays within its bound by no more than one fact, also where script and states
// are taken over.
func TestAcceptanceInParts(t *testing.T) {
	const handlers, size, most = 20, 256 << 10, 512 << 10
	b := newBench(t)
	b.hold = decide.EngineStandstill
	var names []string
	for i := range handlers {
		names = append(names, fmt.Sprintf("c%d:in", i))
	}
	b.must("deploy " + strings.Join(names, " "))
	remains := &decide.Remains{Whole: true}
	state := []byte(`"` + strings.Repeat("x", size-2) + `"`)
	for i := range handlers {
		remains.Saw(&eventlog.HandlerStateSaved{Handler: eventlog.Handler(fmt.Sprintf("c%d", i)), State: state}, b.now)
	}
	for n := 1; ; n++ {
		if err := b.do(decide.AcceptLoss{Detail: "test", Remains: remains, Max: 1000, MaxBytes: most}); err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, f := range b.last.Facts {
			if f, ok := f.(*eventlog.HandlerStateSaved); ok {
				bytes += len(f.State)
			}
		}
		if bytes > most+size {
			t.Fatalf("transition %d has states of %d bytes", n, bytes)
		}
		if b.last.Kind == "workflow.loss_accepted" {
			break
		}
		if n == handlers {
			t.Fatal("it does not end")
		}
	}
	for i := range handlers {
		if h := b.state.Handler(eventlog.Handler(fmt.Sprintf("c%d", i))); !slices.Equal(h.State, state) {
			t.Errorf("the state of %s is not taken over", h.Name)
		}
	}
}

// An accepted loss of the installation revokes every token: a revocation may be among what is lost.
func TestAcceptedLossRevokesTokens(t *testing.T) {
	i := newInstalled(t)
	for n, name := range []eventlog.TokenName{"ann", "ben"} {
		if code := i.decides(eventlog.Installation, decide.CreateToken{Name: name, Role: eventlog.RoleViewer,
			Hash: tokenHash(n), Last4: "ABCD"}); code != "" {
			t.Fatal(code)
		}
	}
	if code := i.decides(eventlog.Installation, decide.AcceptLoss{Detail: "test"}); code != "" {
		t.Fatal(code)
	}
	if len(i.state.Tokens) > 0 || i.state.Blocked != nil {
		t.Errorf("the loss leaves %+v", i.state)
	}
	if code := i.decides(eventlog.Installation, decide.AcceptLoss{Detail: "again"}); code != "" {
		t.Errorf("a second loss: %s", code)
	}
}

// That a person knows each name is recorded with the installation, whose tokens stay; it is nothing of a workflow.
func TestConfirmNames(t *testing.T) {
	i := newInstalled(t)
	if code := i.decides(eventlog.Installation, decide.ConfirmNames{}); code != "" {
		t.Errorf("in an empty log: %s", code)
	}
	if code := i.decides(eventlog.Installation, decide.CreateToken{Name: "ann", Role: eventlog.RoleViewer,
		Hash: tokenHash(1), Last4: "ABCD"}); code != "" {
		t.Fatal(code)
	}
	if code := i.decides(eventlog.Installation, decide.ConfirmNames{}); code != "" {
		t.Errorf("behind a token: %s", code)
	}
	if len(i.state.Tokens) != 1 || i.state.Blocked != nil || i.state.Head.Revision != 3 {
		t.Errorf("it leaves %+v", i.state)
	}
	if code := i.decides("orders", decide.ConfirmNames{}); code != "names.misplaced" {
		t.Errorf("for a workflow: %q", code)
	}
}

func (b *bench) must(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		if err := b.command(line); err != nil {
			b.t.Fatalf("%s: %v", line, err)
		}
	}
}

func (b *bench) mustDo(cmd decide.Command) {
	b.t.Helper()
	if err := b.do(cmd); err != nil {
		b.t.Fatalf("%T: %v", cmd, err)
	}
}

// An event that only the local store has, and that waits there, waits in the log again: no call can be among
// what the engine itself accepts as lost.
func TestKeptEventsOfTheStore(t *testing.T) {
	b := newBench(t)
	b.hold = decide.EngineStandstill
	b.must("deploy c:in")
	remains := &decide.Remains{}
	remains.Found(&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "T1", Payload: []byte(`null`),
		Status: eventlog.EventStatusPending})
	if err := b.do(decide.AcceptLoss{Detail: "test", Remains: remains, Kept: true}); err != nil {
		t.Fatal(err)
	}
	if e := b.store[projections.EventKey("in", "a")].(*projections.TopicEvent); e.Status != eventlog.EventStatusPending {
		t.Errorf("it is %s, want pending", e.Status)
	}
}

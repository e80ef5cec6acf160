package jslog_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// under is the stored form of the transition as an older version wrote it: with this name for its one fact.
func under(t *testing.T, name eventlog.FactType, stored []byte) []byte {
	t.Helper()
	var envelope map[string]any
	if err := msgpack.Unmarshal(stored, &envelope); err != nil {
		t.Fatal(err)
	}
	envelope["kind"] = string(name)
	envelope["facts"].([]any)[0].([]any)[0] = string(name)
	var b bytes.Buffer
	if err := msgpack.NewEncoder(&b).Encode(envelope); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRetiredKinds: a log of an older version is read as ever. Its messages stand on the subjects of the kinds
// that they had then.
func TestRetiredKinds(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	mustOpen(t, nc, jslog.Config{})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var head eventlog.Head
	for _, x := range []struct {
		old  eventlog.FactType
		fact eventlog.Fact
	}{
		{"event.updated", &eventlog.EventRepublished{Topic: "in", MessageID: "a", Title: "A", Payload: []byte(`1`)}},
		{"handler.wake_set", &eventlog.HandlerWakeRequested{Handler: "c", WakeAt: 7}},
		{"workflow.retry_set", &eventlog.RetryOwed{Run: "R1"}},
	} {
		e, err := eventlog.NewEntry(eventlog.Transition{ID: eventlog.TransitionID("T-" + x.old), Workflow: "shop", At: 1,
			Actor: eventlog.System, Kind: x.fact.FactType(), Facts: []eventlog.Fact{x.fact}}, head)
		if err != nil {
			t.Fatal(err)
		}
		stored := under(t, x.old, e.Stored)
		ack, err := js.Publish(t.Context(), "pawl.log.0.shop."+string(x.old), stored)
		if err != nil {
			t.Fatal(err)
		}
		head = eventlog.Head{Revision: head.Revision + 1, Seq: ack.Sequence, Hash: eventlog.HashOf(stored)}
	}

	l := mustOpen(t, nc, jslog.Config{})
	var kinds, types []eventlog.FactType
	for r, err := range l.ReadWorkflow(t.Context(), "shop", 1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds, types = append(kinds, r.Kind), append(types, r.Facts[0].FactType())
		if got := r.Head(); got.Seq == head.Seq && got != head {
			t.Errorf("the head is %+v, want %+v: hashes are over what is stored", got, head)
		}
	}
	want := []eventlog.FactType{"event.republished", "handler.wake_requested", "workflow.retry_owed"}
	if !slices.Equal(kinds, want) || !slices.Equal(types, want) {
		t.Errorf("read kinds %v of facts %v, want %v", kinds, types, want)
	}
	if _, err := l.Append(t.Context(), logtest.Entry(t, "shop", head)); err != nil {
		t.Errorf("append behind it: %v", err)
	}
}

// TestRetiredKinds_OtherSubject: a message on the subject of another kind is no transition of its workflow.
func TestRetiredKinds_OtherSubject(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	l := mustOpen(t, nc, jslog.Config{})
	f := &eventlog.RetryOwed{Run: "R1"}
	e, err := eventlog.NewEntry(eventlog.Transition{ID: "T1", Workflow: "shop", At: 1, Actor: eventlog.System,
		Kind: f.FactType(), Facts: []eventlog.Fact{f}}, eventlog.Head{})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "pawl.log.0.shop.event.updated", e.Stored); err != nil {
		t.Fatal(err)
	}
	for _, err := range l.ReadWorkflow(t.Context(), "shop", 1) {
		if !errors.Is(err, eventlog.ErrUnreadable) {
			t.Errorf("read it with %v, want ErrUnreadable", err)
		}
	}
}

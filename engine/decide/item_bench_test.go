package decide_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// itemFold decides and folds as an engine does: it reads the past from a store, here an empty one, and what was
// finished not long ago is still in memory.
type itemFold struct {
	t     testing.TB
	state *projections.State
	runs  int
	// read are the keys that were read before decisions, missed those that decisions missed all the same.
	read, missed []projections.Key
}

// newItemFold is the fold of a workflow of which not all of the past is in memory.
func newItemFold(t testing.TB) *itemFold {
	f := &itemFold{t: t, state: new(projections.State)}
	f.do(decide.Deploy{Filename: "w.ts", Source: "s", SourceHash: "1", GrantUsed: true, Definition: eventlog.Definition{
		Operations: []eventlog.Operation{{Connector: "http", Operation: "post", Kind: "mutate", TimeoutMS: 1000}},
		Topics:     []eventlog.Topic{"in", "out"},
		Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"},
			Publishes: []eventlog.Topic{"out"}, HasMutate: true, HasNext: true}},
	}})
	f.state = f.state.Evict(nil)
	return f
}

// do decides the command and folds the transition. The store has no row of what is read.
func (f *itemFold) do(cmd decide.Command) {
	f.runs++
	env := decide.Env{
		Now: epoch, Engine: "E1", Jitter: 0.5, Policies: schedule.Default(), MaxHeld: 1000, Actor: eventlog.System,
		Run:     eventlog.RunID(fmt.Sprintf("01JD00000000000000000R%08d", f.runs)),
		Session: eventlog.SessionID(fmt.Sprintf("01JD00000000000000000S%08d", f.runs)),
	}
	s := f.state
	if unread := s.Unread(decide.Lookups(s, cmd)); len(unread) > 0 {
		f.read = append(f.read, unread...)
		s = s.HydrateAll(unread, nil)
	}
	d, err := decide.Decide(s, workflow, env, cmd)
	for missing := new(projections.Missing); errors.As(err, &missing); d, err = decide.Decide(s, workflow, env, cmd) {
		f.missed = append(f.missed, missing.Keys...)
		s = s.HydrateAll(missing.Keys, nil)
	}
	if err != nil || d.Empty() {
		f.t.Fatalf("%T comes to %v, %v", cmd, d.Facts, err)
	}
	t := d.Transition(workflow, env)
	t.Revision, t.Prev = f.state.Head.Revision+1, f.state.Head.Hash
	r := eventlog.Record{Position: eventlog.Position{Seq: f.state.Head.Seq + 1}, Transition: t}
	binary.BigEndian.PutUint64(r.Hash[:], t.Revision)
	none := func([]projections.Key) ([]any, error) { return nil, nil }
	next, ok := d.Folded.Apply(f.state, &r)
	if !ok {
		if next, err = projections.Replay(f.state, &r, none); err != nil {
			f.t.Fatal(err)
		}
	}
	f.state = next
}

// item is one event from its push to the commit that publishes another.
func (f *itemFold) item(n int) {
	id := eventlog.MessageID(fmt.Sprintf("order-01JD%020d", n))
	f.do(decide.Push{Topic: "in", Items: []decide.PushItem{{MessageID: id, Title: "Order", Payload: []byte(`{"n":1}`)}}})
	run := f.state.Current
	f.do(decide.FinishPrepare{Run: run, Seen: f.state,
		Prepared: decide.Prepared{Raw: []byte(`{"data":{}}`),
			Reservations: []eventlog.EventRef{{Topic: "in", MessageID: id}}},
		Mutate: &decide.FinishMutate{Run: run, Call: &eventlog.MutationCall{Connector: "http", Operation: "post",
			Params: []byte(`{"url":"http://127.0.0.1/"}`)}}})
	f.do(decide.SettleMutation{Mutation: eventlog.MutationID(run),
		Outcome: decide.Settlement{Status: decide.Applied, Result: []byte(`{"status":200}`)}})
	f.do(decide.CommitRun{Run: run, Publishes: []decide.Publish{{Topics: []eventlog.Topic{"out"}, MessageID: id,
		Title: "Sent", Payload: []byte(`{"n":1}`)}}})
	f.do(decide.FinishPrepare{Run: f.state.Current, Seen: f.state, Next: &decide.CommitRun{Run: f.state.Current}})
	if f.state.Session != "" {
		f.t.Fatalf("session %s is still open", f.state.Session)
	}
}

// TestLookups: what an item looks up of the past is read before its decisions, and nothing else is read.
func TestLookups(t *testing.T) {
	t.Parallel()
	f := newItemFold(t)
	for n := range 3 {
		f.item(n)
	}
	if len(f.missed) > 0 {
		t.Errorf("decisions missed %v", f.missed)
	}
	if want := 3 * 3; len(f.read) != want { // the event and its input, and the event that next publishes
		t.Errorf("%v were read, want %d rows", f.read, want)
	}
	refused := decide.Push{Topic: "unknown", Items: []decide.PushItem{{MessageID: "order"}}}
	if keys := decide.Lookups(f.state, refused); len(keys) > 0 {
		t.Errorf("%v are to be read for a push that is refused without them", keys)
	}
	late := decide.CommitRun{Run: "gone", Publishes: []decide.Publish{{Topics: []eventlog.Topic{"out"}, MessageID: "a"}}}
	if keys := decide.Lookups(f.state, late); len(keys) > 0 {
		t.Errorf("%v are to be read for a run that is over", keys)
	}
	again := decide.Push{Topic: "in", Items: []decide.PushItem{{MessageID: "order-01JD00000000000000000000"}}}
	if unread := f.state.Unread(decide.Lookups(f.state, again)); len(unread) > 0 {
		t.Errorf("%v are to be read again", unread)
	}
}

// BenchmarkItem decides and folds one item of a plain workflow, while so many finished ones are in memory.
func BenchmarkItem(b *testing.B) {
	for _, finished := range []int{1, 300} {
		b.Run(fmt.Sprint(finished), func(b *testing.B) {
			f := newItemFold(b)
			for n := range finished {
				f.item(n)
			}
			before, n := *f, 0
			b.ReportAllocs()
			for b.Loop() {
				if n++; n%32 == 0 { // so that what is in memory does not grow with b.N
					*f, n = before, 0
				}
				f.item(finished + n)
			}
		})
	}
}

package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// traffic is what an engine under full load asks of its store: many workflows, each with one item
// at a time, pushed in, sent out and answered by an event of its own; many items to a commit.
type traffic struct {
	tb        testing.TB
	rand      *rand.Rand
	ids       *ulid.MonotonicEntropy
	now       eventlog.Instant
	seq       uint64
	workflows []*flowing
	commits   []traffickedCommit
}

type flowing struct {
	state    *projections.State
	touched  map[projections.Key]bool
	borrowed []projections.Key
	session  eventlog.SessionID
	run      eventlog.RunID
	waiting  eventlog.MessageID
}

// traffickedCommit is a batch and what was looked up before it: ids never seen.
type traffickedCommit struct {
	batch Batch
	asked []question
	items int
}

type question struct {
	workflow eventlog.WorkflowName
	keys     []projections.Key
}

func newTraffic(tb testing.TB, workflows int) *traffic {
	random := rand.New(rand.NewPCG(1, 2))
	t := &traffic{
		tb: tb, rand: random, now: eventlog.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		ids: ulid.Monotonic(reader{random}, 0),
	}
	for i := range workflows {
		f := &flowing{state: new(projections.State), touched: map[projections.Key]bool{}}
		t.workflows = append(t.workflows, f)
		f.state.Name = eventlog.WorkflowName(fmt.Sprintf("bench-%d", i))
		t.add(f, &eventlog.WorkflowDeployed{
			Version: "1.0", Filename: "bench.ts", Source: strings.Repeat("// source\n", 200),
			SourceHash: strings.Repeat("0", 64),
			Definition: eventlog.Definition{Topics: []eventlog.Topic{"in", "out"},
				Consumers: []eventlog.Consumer{{Name: "send", Subscribe: []eventlog.Topic{"in"}, HasMutate: true, HasNext: true}}},
			Grants: map[string]eventlog.Grant{"*": eventlog.GrantAllow},
		})
	}
	return t
}

type reader struct{ r *rand.Rand }

func (r reader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.r.Uint32())
	}
	return len(b), nil
}

func (t *traffic) id() string {
	return ulid.MustNew(ulid.Timestamp(t.now.Time()), t.ids).String()
}

func (t *traffic) add(f *flowing, facts ...eventlog.Fact) {
	t.seq++
	t.now += 50
	next, err := projections.Apply(f.state, &eventlog.Record{
		Position: eventlog.Position{Seq: t.seq}, Hash: eventlog.Hash{byte(t.seq), byte(t.seq >> 8), byte(t.seq >> 16), 1},
		Transition: eventlog.Transition{
			ID: "01JD0000000000000000000000", Workflow: f.state.Name, Revision: f.state.Head.Revision + 1,
			Prev: f.state.Head.Hash,
			At:   t.now, Actor: eventlog.System, Kind: facts[0].FactType(), Facts: facts,
		},
	})
	if err != nil {
		t.tb.Fatal(err)
	}
	for _, k := range next.Touched {
		f.touched[k] = true
	}
	f.state = next
}

// push brings an item in, and says what was looked up for it.
func (t *traffic) push(f *flowing) question {
	id := eventlog.MessageID("item-" + t.id())
	in := eventlog.NewInputID("push", "in", string(id))
	asked := question{f.state.Name, []projections.Key{projections.EventKey("in", id), projections.InputKey(in)}}
	f.session, f.run, f.waiting = eventlog.SessionID(t.id()), eventlog.RunID(t.id()), id
	payload := fmt.Appendf(nil,
		`{"order":%q,"lines":[{"sku":"A-%d","count":%d},{"sku":"B-%d","count":%d}],"customer":"Ada Lovelace","note":%q}`,
		id, t.rand.IntN(1e6), t.rand.IntN(9), t.rand.IntN(1e6), t.rand.IntN(9), strings.Repeat("n", t.rand.IntN(80)))
	t.add(f,
		&eventlog.InputRegistered{Input: in, Source: "push", Type: "in", ExternalID: string(id), Title: "Item " + string(id)},
		&eventlog.EventPublished{Topic: "in", MessageID: id, Title: "Item " + string(id), Payload: payload,
			CausedBy: []eventlog.InputID{in}},
		&eventlog.HandlerDirtied{Handler: "send"}, &eventlog.SessionStarted{Session: f.session},
		&eventlog.RunStarted{Run: f.run, Handler: "send", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Session: f.session, Phase: eventlog.PhasePreparing, Engine: "01JD0000000000000000000000"})
	return asked
}

// prepare sends what was pushed.
func (t *traffic) prepare(f *flowing) {
	run := f.run
	params := fmt.Appendf(nil, `{"url":"http://127.0.0.1:9999/orders","body":{"id":%q,"run":%q}}`, f.waiting, run)
	t.add(f, &eventlog.RunPrepared{Run: run,
		Result: fmt.Appendf(nil, `{"reservations":[{"topic":"in","ids":[%q]}],"data":{"n":1}}`, f.waiting)},
		&eventlog.EventReserved{Topic: "in", MessageID: f.waiting, Run: run},
		&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutating},
		&eventlog.MutationStarted{
			Mutation: eventlog.MutationID(run), Run: run, Key: string(run), Deadline: t.now + 30_000_000,
			Engine: "01JD0000000000000000000000",
			Call: eventlog.MutationCall{Connector: "http", Operation: "post", Params: params,
				ParamsHash: strings.Repeat("ab", 32), UITitle: "Send", TimeoutMS: 30_000},
		})
}

// finish hears that it was applied, publishes an event for it and runs once more to find nothing.
func (t *traffic) finish(f *flowing) question {
	run := f.run
	t.add(f, &eventlog.MutationApplied{Mutation: eventlog.MutationID(run), Run: run,
		Result: []byte(`{"status":200,"body":{"ok":true}}`)},
		&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutated},
		&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseEmitting})
	out := "sent-" + f.waiting
	asked := question{f.state.Name, []projections.Key{projections.EventKey("out", out)}}
	f.run = eventlog.RunID(t.id())
	t.add(f, &eventlog.EventConsumed{Topic: "in", MessageID: f.waiting, Run: run},
		&eventlog.EventPublished{Topic: "out", MessageID: out, Title: "Sent " + string(f.waiting),
			Payload: []byte(`{"ok":true}`), CreatedBy: run, CausedBy: f.state.Event("in", f.waiting).CausedBy},
		&eventlog.RunCommitted{Run: run},
		&eventlog.RunStarted{Run: f.run, Handler: "send", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
			Session: f.session, Phase: eventlog.PhasePreparing, Engine: "01JD0000000000000000000000"})
	t.add(f, &eventlog.RunPrepared{Run: f.run, Result: []byte(`{"reservations":[]}`)},
		&eventlog.RunAdvanced{Run: f.run, Phase: eventlog.PhaseMutating},
		&eventlog.RunAdvanced{Run: f.run, Phase: eventlog.PhaseMutated},
		&eventlog.RunAdvanced{Run: f.run, Phase: eventlog.PhaseEmitting},
		&eventlog.RunCommitted{Run: f.run}, &eventlog.HandlerCleaned{Handler: "send"},
		&eventlog.SessionEnded{Session: f.session, Result: "completed"})
	f.waiting = ""
	return asked
}

// commit makes one commit of so many items. Every fifth item is under way when it is taken.
func (t *traffic) commit(items int) {
	c := traffickedCommit{items: items}
	for i := range items {
		f := t.workflows[t.rand.IntN(len(t.workflows))]
		if f.waiting == "" {
			c.asked = append(c.asked, t.push(f))
			t.prepare(f)
		}
		if i%5 > 0 {
			c.asked = append(c.asked, t.finish(f))
		}
	}
	c.batch.Checkpoint = Checkpoint{Seq: t.seq, Transition: "01JD0000000000000000000000", Identity: "log"}
	for _, f := range t.workflows {
		if len(f.touched) == 0 {
			continue
		}
		keys := make([]projections.Key, 0, len(f.touched))
		for k := range f.touched {
			keys = append(keys, k)
		}
		c.batch.Changes = append(c.batch.Changes, Change{State: f.state, Touched: keys})
		// Inputs of what is under way stay, as they would be read back.
		var evict []projections.Key
		for _, k := range append(keys, f.borrowed...) {
			if k.Kind != projections.KindInput || f.waiting == "" {
				evict = append(evict, k)
			}
		}
		f.borrowed = nil
		if f.waiting != "" {
			f.borrowed = keys
		}
		f.state = f.state.Evict(evict)
		clear(f.touched)
	}
	t.commits = append(t.commits, c)
}

const thread = 1 // RUSAGE_THREAD, which package syscall does not name

// cpu is the processor time taken so far by the process, or by the thread.
func cpu(of int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(of, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTraffic is the processor time, also of the work behind, that the store takes for one
// item of a busy engine: its lookups and its share of the commits.
func BenchmarkTraffic(b *testing.B) {
	// What waits to be committed here is no part of an engine's memory: collecting it must not drown
	// what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(500))
	t := newTraffic(b, 256)
	items := 0
	for range 60 {
		t.commit(750)
		items += 750
	}
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var gets, commits time.Duration
	var rows, files int64
	total := time.Duration(0)
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		s, err := Open(Config{Dir: filepath.Join(b.TempDir(), "store")})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		start := cpu(syscall.RUSAGE_SELF)
		for i := range t.commits {
			c := &t.commits[i]
			at := cpu(thread)
			for _, q := range c.asked {
				found, err := s.Get(q.workflow, q.keys)
				if err != nil || len(found) > 0 {
					b.Fatal(found, err)
				}
			}
			gets += cpu(thread) - at
			at = cpu(thread)
			if err := s.Commit(c.batch); err != nil {
				b.Fatal(err)
			}
			commits += cpu(thread) - at
		}
		total += cpu(syscall.RUSAGE_SELF) - start
		b.StopTimer()
		m := s.db.Metrics()
		wrote := m.Total()
		rows += int64(wrote.TableBytesCompacted + wrote.TableBytesFlushed)
		files += int64(m.WAL.BytesWritten)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	n := float64(b.N * items)
	b.ReportMetric(float64(total.Nanoseconds())/n, "cpu-ns/item")
	b.ReportMetric(float64(gets.Nanoseconds())/n, "get-ns/item")
	b.ReportMetric(float64(commits.Nanoseconds())/n, "commit-ns/item")
	b.ReportMetric(float64(rows)/n, "table-B/item")
	b.ReportMetric(float64(files)/n, "wal-B/item")
}

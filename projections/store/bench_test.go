package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// pipeline is one workflow that consumes what it publishes, flushed like an engine does.
type pipeline struct {
	t        testing.TB
	s        *Store
	log      *foldtest.Log
	h        *foldtest.History
	touched  map[projections.Key]bool
	borrowed []projections.Key
	n        int
	last     eventlog.Record
	payload  []byte
}

func newPipeline(t testing.TB, s *Store) *pipeline {
	p := &pipeline{t: t, s: s, log: foldtest.NewLog(1), touched: map[projections.Key]bool{}}
	p.payload = fmt.Appendf(nil, `{"body":%q}`, strings.Repeat("lorem ipsum ", 25))
	p.h = foldtest.NewHistory(p.log, "w")
	rec, err := p.h.Step()
	p.take(rec, err)
	p.add(&eventlog.SessionStarted{Session: "S"})
	return p
}

func (p *pipeline) take(rec eventlog.Record, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, k := range p.h.State.Touched {
		p.touched[k] = true
	}
	p.last = rec
	p.log.Records = nil
}

func (p *pipeline) add(facts ...eventlog.Fact) {
	p.t.Helper()
	for {
		record, err := p.h.Append(func() {
			for _, f := range facts {
				p.h.Add(f)
			}
		})
		var missing *projections.Missing
		if !errors.As(err, &missing) {
			p.take(record, err)
			return
		}
		rows, err := p.s.Get("w", missing.Keys) // inputs of events that wait in memory
		if err != nil {
			p.t.Fatal(err)
		}
		p.h.State = p.h.State.HydrateAll(missing.Keys, rows)
		for _, row := range rows {
			k, _ := projections.KeyOf(row)
			p.borrowed = append(p.borrowed, k)
		}
	}
}

func (p *pipeline) publish() eventlog.EventRef {
	p.n++
	in, id := eventlog.InputID(fmt.Sprintf("I%d", p.n)), eventlog.MessageID(fmt.Sprintf("order-%d", p.n))
	p.add(
		&eventlog.InputRegistered{Input: in, Source: "push", Type: "order", ExternalID: string(id), Title: "Order " +
			string(id)},
		&eventlog.EventPublished{Topic: "in", MessageID: id, Title: "Order " + string(id), Payload: p.payload,
			CausedBy: []eventlog.InputID{in}},
	)
	return eventlog.EventRef{Topic: "in", MessageID: id}
}

// runOf publishes n events and consumes them in one run with a mutation.
func (p *pipeline) runOf(n int) {
	var refs []eventlog.EventRef
	for range n {
		refs = append(refs, p.publish())
	}
	p.consume(refs)
}

func (p *pipeline) consume(refs []eventlog.EventRef) {
	p.n++
	run := eventlog.RunID(fmt.Sprintf("R%09d", p.n))
	p.add(&eventlog.RunStarted{Run: run, Handler: "work", HandlerType: eventlog.ConsumerHandler, Version: "1.0",
		Session: "S", Phase: eventlog.PhasePreparing, Engine: "e"})
	facts := []eventlog.Fact{&eventlog.RunPrepared{Run: run, Result: p.payload[:0:0]}}
	for _, r := range refs {
		facts = append(facts, &eventlog.EventReserved{Topic: r.Topic, MessageID: r.MessageID, Run: run})
	}
	call := eventlog.MutationCall{Connector: "mail", Operation: "send", Params: p.payload,
		ParamsHash: strings.Repeat("0", 64), TimeoutMS: 1000}
	p.add(append(facts, &eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutating},
		&eventlog.MutationStarted{Mutation: eventlog.MutationID(run), Run: run, Call: call, Key: string(run),
			Engine: "e"})...)
	p.add(&eventlog.MutationApplied{Mutation: eventlog.MutationID(run), Run: run, Result: []byte(`{"ok":true}`)},
		&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseMutated},
		&eventlog.RunAdvanced{Run: run, Phase: eventlog.PhaseEmitting})
	facts = nil
	for _, r := range refs {
		facts = append(facts, &eventlog.EventConsumed{Topic: r.Topic, MessageID: r.MessageID, Run: run})
	}
	p.add(append(facts, &eventlog.RunCommitted{Run: run})...)
}

// batch is what an engine would commit now.
func (p *pipeline) batch() Batch {
	keys := make([]projections.Key, 0, len(p.touched))
	for k := range p.touched {
		keys = append(keys, k)
	}
	clear(p.touched)
	b := Batch{
		Checkpoint: Checkpoint{Seq: p.last.Position.Seq, Transition: p.last.ID, Hash: p.last.Hash, Identity: "log"},
		Changes:    []Change{{State: p.h.State, Touched: keys}},
	}
	p.h.State = p.h.State.Evict(append(keys, p.borrowed...))
	p.borrowed = nil
	return b
}

func (p *pipeline) flush() {
	p.t.Helper()
	if err := p.s.Commit(p.batch()); err != nil {
		p.t.Fatal(err)
	}
}

// BenchmarkCommit is the store's cost of one durable run (an event, its input, a run, a
// mutation), 200 runs to a commit. Half of the runs span two commits.
func BenchmarkCommit(b *testing.B) {
	s := open(b, Config{Dir: filepath.Join(b.TempDir(), "store")})
	p := newPipeline(b, s)
	done := 0
	var waiting []eventlog.EventRef
	b.ResetTimer()
	for done < b.N {
		b.StopTimer()
		for _, r := range waiting {
			p.consume([]eventlog.EventRef{r})
		}
		waiting = waiting[:0]
		for range 100 {
			p.runOf(1)
			waiting = append(waiting, p.publish())
		}
		batch := p.batch()
		done += 200
		b.StartTimer()
		if err := s.Commit(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}

func BenchmarkGet(b *testing.B) {
	s := open(b, Config{Dir: filepath.Join(b.TempDir(), "store")})
	p := newPipeline(b, s)
	for range 500 {
		p.runOf(100)
		p.flush()
	}
	for name, key := range map[string]func(i int) projections.Key{
		"present": func(i int) projections.Key {
			return projections.EventKey("in", eventlog.MessageID(fmt.Sprintf("order-%d", 1+i%100+101*(i*7919%500))))
		},
		"absent": func(i int) projections.Key {
			return projections.EventKey("in", eventlog.MessageID(fmt.Sprintf("order-%d-x", 1+i*7919%50_000)))
		},
	} {
		for _, n := range []int{1, 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				keys := make([]projections.Key, n)
				for i := 0; b.Loop(); i++ {
					for j := range keys {
						keys[j] = key(i*n + j)
					}
					rows, err := s.Get("w", keys)
					if err != nil || (len(rows) == n) != (name == "present") {
						b.Fatal(len(rows), err)
					}
				}
			})
		}
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Load("w"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

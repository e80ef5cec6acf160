package foldtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Log is one partition's log in the making, shared by several workflows.
type Log struct {
	// Partition goes into the records' positions.
	Partition int
	Records   []eventlog.Record

	rand *rand.Rand
	seq  uint64
	now  eventlog.Instant
	ids  int
}

// NewLog returns an empty log. Histories on logs of the same seed are the same.
func NewLog(seed uint64) *Log {
	return &Log{rand: rand.New(rand.NewPCG(seed, 7)), now: eventlog.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

// History writes one workflow's past to a log.
type History struct {
	// State is the fold of everything so far; nothing ever leaves it.
	State *projections.State
	// Actor causes the transitions from now on; at the beginning it is Pawl itself.
	Actor eventlog.Actor

	log  *Log
	name eventlog.WorkflowName
	// concurrent: its scripts have a concurrent consumer.
	concurrent bool
	// draft is the transition in the making.
	draft *projections.Draft
	err   error
}

// NewHistory returns a workflow without a past on the log.
func NewHistory(log *Log, name eventlog.WorkflowName) *History {
	return &History{log: log, name: name, State: new(projections.State), Actor: eventlog.System}
}

// Append appends one transition with the facts that add adds, and returns it as read back from
// its stored bytes.
func (h *History) Append(add func()) (eventlog.Record, error) {
	l := h.log
	l.seq += 1 + l.rand.Uint64N(3)
	l.now = l.now.Add(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
	l.ids++
	t := eventlog.Transition{
		ID: eventlog.TransitionID(fmt.Sprintf("T%06d", l.ids)), Workflow: h.name, At: l.now,
		Actor: h.Actor, Cause: eventlog.Cause{Kind: "test"},
	}
	h.draft, h.err = projections.NewDraft(h.State, t, l.seq), nil
	add()
	if h.err != nil {
		return eventlog.Record{}, h.err
	}
	t.Facts = h.draft.Facts()
	if len(t.Facts) == 0 {
		return eventlog.Record{}, fmt.Errorf("transition of %s has no facts", h.name)
	}
	t.Kind = t.Facts[0].FactType()
	entry, err := eventlog.NewEntry(t, h.State.Head)
	if err != nil {
		return eventlog.Record{}, err
	}
	decoded, err := eventlog.Decode(entry.Stored)
	if err != nil {
		return eventlog.Record{}, err
	}
	r := eventlog.Record{
		Position: eventlog.Position{Partition: l.Partition, Seq: l.seq},
		Hash:     entry.Hash(), Size: len(entry.Stored), Transition: decoded,
	}
	if h.State, err = projections.Apply(h.State, &r); err != nil {
		return eventlog.Record{}, err
	}
	l.Records = append(l.Records, r)
	return r, nil
}

// Add adds a fact to the transition in the making; the first error sticks and fails Append.
func (h *History) Add(f eventlog.Fact) {
	if h.err == nil {
		h.err = h.draft.Add(f)
	}
}

func (h *History) now() *projections.State { return h.draft.State() }
func (h *History) chance(percent int) bool { return h.log.rand.IntN(100) < percent }

func (h *History) id(prefix string) string {
	h.log.ids++
	return fmt.Sprintf("%s%d%06d", prefix, h.log.Partition, h.log.ids)
}

func (h *History) json(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil && h.err == nil {
		h.err = err
	}
	return b
}

// The handlers and topics of every deployed script.
const (
	Poll eventlog.Handler = "poll"
	Work eventlog.Handler = "work"
	Sink eventlog.Handler = "sink"
	In   eventlog.Topic   = "in"
	Out  eventlog.Topic   = "in.out"
)

func (h *History) deploy() {
	n := 0
	for range h.State.Scripts() {
		n++
	}
	two := 2
	consumers := []eventlog.Consumer{{Name: Work, Subscribe: []eventlog.Topic{In}, HasMutate: true, HasNext: true}}
	// Some versions leave a topic without a consumer, unless a run still needs it (O9).
	if h.held(Sink) || h.chance(60) {
		consumers = append(consumers, eventlog.Consumer{Name: Sink, Subscribe: []eventlog.Topic{Out}, HasNext: true,
			MaxAttempts: &two})
	}
	source := fmt.Sprintf("// version %d", n+1)
	h.Add(&eventlog.WorkflowDeployed{
		Version: eventlog.Version(fmt.Sprintf("%d.0", n+1)), Filename: "w.js", Source: source, SourceHash: source,
		Grants: map[string]eventlog.Grant{"mail.send": eventlog.GrantAllow},
		Definition: eventlog.Definition{
			Topics:    []eventlog.Topic{In, Out},
			Producers: []eventlog.Producer{{Name: Poll, IntervalMS: 300_000}},
			Consumers: consumers,
			Operations: []eventlog.Operation{{Connector: "mail", Operation: "send", Kind: "mutate", Reconciles: true,
				TimeoutMS: 30_000}},
		},
	})
}

// held reports whether a run of the handler is not over.
func (h *History) held(handler eventlog.Handler) bool {
	for _, run := range []*projections.Run{h.State.CurrentRun(), h.State.RetryRun()} {
		if run != nil && run.Handler == handler {
			return true
		}
	}
	return false
}

package simulation

import (
	"bytes"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// judge reads the log as it grows and holds every record against the rules, by its own books and
// by the fold.
type judge struct {
	sim         *sim
	next        []uint64 // the next sequence to read, by partition
	transitions int
	books       map[eventlog.WorkflowName]*book
	started     map[string]*eventlog.MutationStarted // by idempotency key
	// deadlines are those of the latest requests that may leave, and resends how many may beside the first.
	deadlines map[string]eventlog.Instant
	resends   map[string]int
	// undone are the keys whose mutation is recorded as not having happened, not by a person.
	undone map[string]bool
	// asserted are the chains of whose mutation a person has said that it happened.
	asserted map[int]bool
	// barriers are the starts in the log by transition; overtaken the keys that may not leave.
	barriers  map[eventlog.TransitionID]barrier
	overtaken map[string]bool
	// seen is what next was given, by the chain's tag.
	seen map[int]string
	// reported are the calls that a person was told of before they were given up.
	reported map[eventlog.MutationID]bool
}

func newJudge(s *sim) *judge {
	return &judge{
		sim: s, next: make([]uint64, s.memory.Partitions()), books: map[eventlog.WorkflowName]*book{},
		deadlines: map[string]eventlog.Instant{}, resends: map[string]int{},
		started: map[string]*eventlog.MutationStarted{}, undone: map[string]bool{}, asserted: map[int]bool{},
		barriers: map[eventlog.TransitionID]barrier{}, overtaken: map[string]bool{}, seen: map[int]string{},
		reported: map[eventlog.MutationID]bool{},
	}
}

func (j *judge) book(w eventlog.WorkflowName) *book {
	b, ok := j.books[w]
	if !ok {
		b = &book{
			name: w, phases: map[eventlog.RunID]eventlog.Phase{}, ended: map[eventlog.RunID]bool{},
			awaiting: map[eventlog.RunID]bool{},
			consumed: map[eventlog.EventRef]bool{}, open: map[eventlog.MutationID]eventlog.RunID{},
			keys:    map[eventlog.MutationID]string{},
			written: map[*node]uint64{}, wakes: newWakes(), again: map[eventlog.EventRef]bool{},
			calls: newUnreadable[eventlog.MutationID](), publications: newUnreadable[eventlog.EventRef](),
			consumptions: newUnreadable[eventlog.EventRef](), abreast: newAbreast(),
		}
		j.books[w] = b
	}
	return b
}

// sent holds a request that leaves against its record: its start is durable, with these bytes.
func (j *judge) sent(r *request) {
	j.entitled(r)
	started, ok := j.started[r.key]
	switch {
	case r.sent > 1+j.resends[r.key]:
		j.sim.violate("mutation %s was sent %d times", j.sim.alias(r.key), r.sent)
	case !ok:
		j.sim.violate("a request left before the start of its mutation was in the log (F6)")
	case j.overtaken[r.key]:
		j.sim.violate("mutation %s left although others had written after its start when that was found", j.sim.alias(r.key))
	case !bytes.Equal(started.Call.Params, r.call.Params) || started.Call.Operation != r.call.Operation:
		j.sim.violate("mutation %s left with other bytes than recorded (O5)", j.sim.alias(r.key))
	}
}

// applied: what is recorded as not having happened does not happen.
func (j *judge) applied(r *request) {
	if j.undone[r.key] {
		j.sim.violate("mutation %s took effect after it was recorded as failed", j.sim.alias(r.key))
	}
}

// arrivals looks at what has come up to the gate since the last move.
func (j *judge) arrivals() {
	for _, o := range j.sim.gate.waiting(func(*node) bool { return true }) {
		if o.looked {
			continue
		}
		o.looked = true
		switch {
		case o.kind == opScript && o.script.Phase == sandbox.Prepare:
			o.seen = map[eventlog.EventRef]int{}
			became := j.book(o.workflow).wakes.became
			for topic, events := range o.script.Pending {
				for _, e := range events {
					ref := eventlog.EventRef{Topic: eventlog.Topic(topic), MessageID: eventlog.MessageID(e.MessageID)}
					o.seen[ref] = became[ref]
				}
			}
		case o.kind == opPerform:
			since := j.sim.clock.Now()
			if j.sim.sharing != nil {
				since = since.Add(-2 * breath) // it has come up at some time between two looks
			}
			if until, ok := j.deadlines[o.call.Key]; ok && !since.Before(until.Time()) {
				j.sim.violate("mutation %s is about to leave after its deadline", j.sim.alias(o.call.Key))
			}
			j.pinned(o)
		}
	}
}

// pinned: what leaves is a call of the tool that its run's version was deployed with.
func (j *judge) pinned(o *op) {
	b := j.book(o.workflow)
	s := b.state()
	run := s.Run(o.call.Run)
	if run == nil {
		return // it has left before its record; sent says so
	}
	if pin, ok := s.Script(run.Version).Definition.Operation(connectorName, o.call.Operation); ok &&
		o.call.Operation == opSend && pin.Reconciles == j.sim.mute.Load() {
		j.sim.violate("mutation %s is about to leave for a tool that is not what version %s was deployed with",
			j.sim.alias(o.call.Key), run.Version)
	}
}

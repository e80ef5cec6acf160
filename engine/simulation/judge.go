package simulation

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// book is what the judge itself knows of a workflow.
type book struct {
	name eventlog.WorkflowName
	// past[n] is the fold after revision n+1, seqs[n] where that stands.
	past     []*projections.State
	seqs     []uint64
	phases   map[eventlog.RunID]eventlog.Phase
	ended    map[eventlog.RunID]bool
	cutOff   map[eventlog.RunID]bool // whose process ended while its call was open
	awaiting map[eventlog.RunID]bool
	consumed map[eventlog.EventRef]bool
	// again are the consumed events that a person let happen again: their consumption was lost.
	again map[eventlog.EventRef]bool
	// calls, publications and consumptions are the facts of these kinds that cannot be read in the log any more.
	calls        unreadable[eventlog.MutationID]
	publications unreadable[eventlog.EventRef]
	consumptions unreadable[eventlog.EventRef]
	// twins are the events whose id was published again after all that told of the first event with that id was lost. asks
	// are the lost events since whose loss no person has set the grants: a call for a twin of theirs needs an approval.
	twins, asks map[eventlog.EventRef]bool
	open        map[eventlog.MutationID]eventlog.RunID // not known to have happened or not
	keys        map[eventlog.MutationID]string
	written     map[*node]uint64 // the last revision of each engine's own
	lost        int              // the place of the first record that is lost and not cut off yet; 0 for none
	writer      *node            // of the record that is checked; nil for a dead one
	wakes       wakes
	consumers   consumerBook
}

// state is the fold of the workflow's log; the zero state before its first record.
func (b *book) state() *projections.State {
	if len(b.past) == 0 {
		return new(projections.State)
	}
	return b.past[len(b.past)-1]
}

func (b *book) run(id eventlog.RunID) *projections.Run {
	s := b.state()
	return s.Run(id)
}

// wakes records which run has looked at which event: an event may stay pending only if an empty run
// has seen it and left it (S3).
type wakes struct {
	// became counts how often an event became pending.
	became map[eventlog.EventRef]int
	// peeked is what each prepare could see, by its chain's tag; left is what empty runs left.
	peeked map[int]map[eventlog.EventRef]int
	left   map[eventlog.EventRef]int
}

func newWakes() wakes {
	return wakes{became: map[eventlog.EventRef]int{}, peeked: map[int]map[eventlog.EventRef]int{},
		left: map[eventlog.EventRef]int{}}
}

// fact follows one fact of the workflow's log.
func (k *wakes) fact(b *book, f eventlog.Fact) {
	switch f := f.(type) {
	case *eventlog.EventPublished:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventReleased:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRetryScheduled:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRedriven:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.WorkflowDeployed:
		clear(k.left) // a new version looks at everything again
	case *eventlog.RunCommitted:
		run := b.run(f.Run)
		var result struct{ Data prepared }
		if run.Type != eventlog.ConsumerHandler || run.RetryOf != "" || len(run.Reserved) > 0 ||
			json.Unmarshal(run.PrepareResult, &result) != nil {
			return
		}
		for ref, n := range k.peeked[result.Data.Tag] {
			k.left[ref] = n
		}
	}
}

// barrier is the record that allows a request to leave.
type barrier struct {
	key      string
	revision uint64
}

// unreadable are the facts whose own record cannot be read any more, by what they are about. An acceptance cannot know
// them, unless a later record or a store tells of them. What one acceptance has learned, later ones know too.
type unreadable[K comparable] struct{ record, learned map[K]bool }

func newUnreadable[K comparable]() unreadable[K] {
	return unreadable[K]{record: map[K]bool{}, learned: map[K]bool{}}
}

// spoilt notes that the fact's own record cannot be read any more.
func (u unreadable[K]) spoilt(k K) {
	u.record[k] = true
	u.forgotten(k)
}

// forgotten notes that the record by which an acceptance kept the fact cannot be read any more.
func (u unreadable[K]) forgotten(k K) { delete(u.learned, k) }

// unknown reports whether an acceptance need not know the fact; one that does know it is bound to keep it.
func (u unreadable[K]) unknown(k K, known bool) bool {
	if known {
		u.learned[k] = true
	}
	return u.record[k] && !u.learned[k]
}

// judge reads the log as it grows and checks every record against the rules, by its own books and by the fold.
type judge struct {
	sim         *sim
	next        []uint64 // the next sequence to read, by partition
	transitions int
	books       map[eventlog.WorkflowName]*book
	started     map[string]*eventlog.MutationStarted // by idempotency key
	// deadlines are the deadlines of the latest requests that may leave, and resends is how many may leave after the
	// first.
	deadlines map[string]eventlog.Instant
	resends   map[string]int
	// undone are the keys whose mutation is recorded as not having happened, not by a person.
	undone map[string]bool
	// asserted are the chains of whose mutation a person has said that it happened.
	asserted map[int]bool
	// barriers are the starts in the log by transition; overtaken the keys that may not leave.
	barriers  map[eventlog.TransitionID]barrier
	overtaken map[string]bool
	// seen is what next was given, by the chain's tag, and chains are those of all prepares that have returned.
	seen   map[int]string
	chains map[int]*chain
	// reported are the calls that a person was told of before they were given up.
	reported map[eventlog.MutationID]bool
}

func newJudge(s *sim) *judge {
	return &judge{
		sim: s, next: make([]uint64, s.memory.Partitions()), books: map[eventlog.WorkflowName]*book{},
		deadlines: map[string]eventlog.Instant{}, resends: map[string]int{},
		started: map[string]*eventlog.MutationStarted{}, undone: map[string]bool{}, asserted: map[int]bool{},
		barriers: map[eventlog.TransitionID]barrier{}, overtaken: map[string]bool{}, seen: map[int]string{},
		chains: map[int]*chain{}, reported: map[eventlog.MutationID]bool{},
	}
}

func (j *judge) book(w eventlog.WorkflowName) *book {
	b, ok := j.books[w]
	if !ok {
		b = &book{
			name: w, phases: map[eventlog.RunID]eventlog.Phase{}, ended: map[eventlog.RunID]bool{},
			awaiting: map[eventlog.RunID]bool{}, cutOff: map[eventlog.RunID]bool{},
			consumed: map[eventlog.EventRef]bool{}, open: map[eventlog.MutationID]eventlog.RunID{},
			keys:    map[eventlog.MutationID]string{},
			written: map[*node]uint64{}, wakes: newWakes(), again: map[eventlog.EventRef]bool{},
			calls: newUnreadable[eventlog.MutationID](), publications: newUnreadable[eventlog.EventRef](),
			consumptions: newUnreadable[eventlog.EventRef](), twins: map[eventlog.EventRef]bool{},
			asks: map[eventlog.EventRef]bool{}, consumers: newConsumerBook(),
		}
		j.books[w] = b
	}
	return b
}

// sent checks a request that leaves against its record: its start is durable, with these bytes.
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

// entitled: a request leaves only from the engine that holds the partition, in the epoch in which its start was
// decided.
func (j *judge) entitled(r *request) {
	s := j.sim
	if s.sharing == nil {
		return
	}
	epoch := s.sharing.net.Epoch(*r.node.name.Load(), s.memory.PartitionOf(r.call.Workflow))
	switch started := s.sharing.epochs[r.key]; {
	case epoch == 0:
		s.violate("mutation %s leaves from engine %d, which does not hold its partition any more", s.alias(r.key),
			r.node.number)
	case epoch != started:
		s.violate("mutation %s leaves in epoch %d of its partition, and was started in %d", s.alias(r.key), epoch, started)
	}
}

// startedIn notes in which epoch a mutation was started.
func (j *judge) startedIn(b *book, key string) {
	if s := j.sim; s.sharing != nil && b.writer != nil {
		s.sharing.epochs[key] = s.sharing.net.Epoch(*b.writer.name.Load(), s.memory.PartitionOf(b.name))
	}
}

// trueTime is a time that the writer of a record has read from its machine's clock, by the clock that was not set.
func (j *judge) trueTime(r eventlog.Record, at eventlog.Instant) eventlog.Instant {
	if j.sim.sharing != nil {
		if ahead, ok := j.sim.sharing.offsets.Load(r.ID); ok {
			return at.Add(-ahead.(time.Duration))
		}
	}
	return at
}

package decide

import (
	"bytes"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// AcceptLoss records that a person accepted the loss of a part of the workflow's past, on the state before
// that part, and holds the workflow. Nothing that may have been done in it can be done again without a
// person's word: its calls go into the ledger as given up; an event that may have been handled is ended, and
// only a redrive that says so brings it back (O11); one that is known to wait goes on waiting. Where events
// may have come that are not known any more, every mutation asks for approval from now on. The state must
// hold all of the workflow's history.
//
// What does not fit into one transition comes in several: the last one alone holds LossAccepted. The command
// is repeated until then, on the state that the former ones led to.
type AcceptLoss struct {
	Detail  string
	Remains *Remains
	// Kept says that the workflow's past is whole as far as it can be seen, and that the loss was accepted by
	// the engine itself (--sync=interval), not by a person: what waits stays, and what is known is taken over.
	// No call is among what is lost, since the start of each call is synced before it leaves.
	Kept bool
	// Max bounds the transition: its events and calls, and their bytes. Zero is no bound.
	Max, MaxBytes int
}

// KindGivenUp is the kind of each transition of an AcceptLoss but the last.
const KindGivenUp eventlog.FactType = "event.given_up"

func (c AcceptLoss) decide(d *decision) error {
	if d.state().Name == eventlog.Installation {
		d.acceptTokenLoss(c.Detail)
		return nil
	}
	r := c.Remains
	if r == nil {
		r = new(Remains)
	}
	d.kind = KindGivenUp
	d.giveUpRun(r)
	p := &parts{d: d, maxFacts: c.Max, maxBytes: c.MaxBytes}
	p.openRuns(r, c.Kept)
	p.calls(r)
	p.waiting(r, c.Kept)
	p.unknown(r, c.Kept)
	p.takeOver(r)
	if p.full() {
		return nil
	}
	if r.archived && !d.state().Archived {
		d.emit(&eventlog.WorkflowArchived{})
	}
	if s := d.state(); !r.Whole && !c.Kept {
		if strict := asking(s); !maps.Equal(strict, s.Grants) {
			d.emit(&eventlog.WorkflowGranted{Grants: strict})
		}
	}
	d.emitNaming(&eventlog.LossAccepted{Detail: c.Detail})
	d.emit(&eventlog.WorkflowBlocked{Reason: eventlog.BlockLoss, Message: "its newest transitions may be lost: " +
		c.Detail})
	return nil
}

// acceptTokenLoss revokes every named token and closes every login: a revocation may be among what is lost, and the
// installation itself cannot be held.
func (d *decision) acceptTokenLoss(detail string) {
	d.emitNaming(&eventlog.LossAccepted{Detail: detail})
	for _, token := range slices.Clone(d.state().Tokens) {
		d.emit(&eventlog.TokenRevoked{Name: token.Name})
	}
	d.closeLogins(func(projections.Login) bool { return true })
}

// ConfirmNames records, with the installation, that a person knows the names of all lost workflows. From then on a name
// that is not in the log counts as new.
type ConfirmNames struct{}

func (ConfirmNames) decide(d *decision) error {
	d.emitNaming(&eventlog.LossAccepted{Detail: "a person says that each workflow is known that was lost with its name"})
	return nil
}

// unknownEnd is why a run ends that has gone on in what is given up.
const unknownEnd = "what became of it is in a part of the log that was given up"

// giveUpRun ends the plain run that is open in the state: it has gone on in what is given up. Its events are still
// reserved after that, and its call is in the ledger as given up.
func (d *decision) giveUpRun(r *Remains) {
	if run := d.state().CurrentRun(); run != nil {
		d.giveUpCall(r, run)
		d.emit(aborted(run, unknownEnd))
		d.endSession(eventlog.SessionFailed)
		if run.Type == eventlog.ProducerHandler {
			d.emit(&eventlog.HandlerScheduled{Handler: run.Handler, NextRunAt: d.env.Now}) // the poll is still owed
		}
	}
	if run := d.state().RetryRun(); run != nil {
		d.giveUpCall(r, run)
		d.emit(&eventlog.RetryCleared{Run: run.ID})
	}
}

// giveUpCall puts the call of a run into the ledger as given up, if it is open in the state, and returns the size of
// its texts.
func (d *decision) giveUpCall(r *Remains, run *projections.Run) (size int) {
	if f := r.givenUp(d.state(), run); f != nil {
		d.emit(f)
		size = len(f.Call.Params) + len(f.Result)
	}
	return size
}

// parts adds facts up to the bounds of a transition.
type parts struct {
	d                  *decision
	maxFacts, maxBytes int
	n, bytes           int
}

// openRuns does what giveUpRun does with the runs of concurrent consumers, of which there may be many: each ends with
// its event.
func (p *parts) openRuns(r *Remains, kept bool) {
	for _, run := range slices.Collect(p.d.state().OpenRuns()) {
		if p.full() {
			return
		}
		size := p.d.giveUpCall(r, run)
		if run.EndedAt != 0 {
			p.add(&eventlog.RunRetryCleared{Run: run.ID}, size)
		} else {
			p.add(aborted(run, unknownEnd), size)
		}
		for _, e := range p.d.state().ReservedBy(run) {
			p.endWaiting(r, e, kept)
		}
	}
}

// calls records the calls as given up that are not settled in the state.
func (p *parts) calls(r *Remains) {
	for _, id := range r.calls {
		if p.full() {
			return
		}
		if m := p.d.state().Mutation(id); m == nil || !m.Status.Final() {
			f := r.mutations[id]
			p.add(f, len(f.Call.Params)+len(f.Result))
		}
	}
}

// waiting ends the events that wait or are reserved in the state, unless they are known to wait still.
func (p *parts) waiting(r *Remains, kept bool) {
	var open []*projections.TopicEvent
	for _, e := range p.d.state().Events() {
		if e.Status == eventlog.EventStatusPending || e.Status == eventlog.EventStatusReserved {
			open = append(open, e)
		}
	}
	slices.SortFunc(open, func(a, b *projections.TopicEvent) int {
		if a.Created.Before(b.Created) {
			return -1
		}
		return 1
	})
	for _, e := range open {
		if p.full() {
			return
		}
		p.endWaiting(r, e, kept)
	}
}

func (p *parts) endWaiting(r *Remains, e *projections.TopicEvent, kept bool) {
	ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
	x := r.events[ref]
	waits := kept && e.Status == eventlog.EventStatusPending
	switch {
	case x != nil && x.pending && (r.Whole || waits):
		if e.Status == eventlog.EventStatusReserved {
			p.add(&eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: e.ReservedBy}, 0)
		}
		p.keepAsking(e, x)
		if x.title != e.Title || !bytes.Equal(x.payload, e.Payload) {
			p.add(&eventlog.EventRepublished{Topic: e.Topic, MessageID: e.MessageID, Title: x.title, Payload: x.payload,
				CausedBy: e.CausedBy}, len(x.payload))
		}
	case x == nil && waits:
	default:
		f := x.outcome(ref)
		f.Title, f.Payload = e.Title, nil // the state has the payload
		p.add(f, 0)
	}
}

// keepAsking lets a later redrive of a waiting event ask for consent as before, where the state does not know of the
// calls for which it did: the event is ended as one whose fate is not known, and redriven (O11).
func (p *parts) keepAsking(e *projections.TopicEvent, x *remnant) {
	if e.WasUnknown || e.Unknown || !x.unknown && x.former <= len(e.Former) {
		return
	}
	f := (*remnant)(nil).outcome(eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
	f.Title, f.Payload = e.Title, nil // the state has the payload
	p.add(f, 0)
	p.add(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID}, 0)
}

// unknown adds the events that the state does not know: their ids must be known from now on (R11).
func (p *parts) unknown(r *Remains, kept bool) {
	for _, ref := range r.order {
		if p.full() {
			return
		}
		if e := p.d.state().Event(ref.Topic, ref.MessageID); e != nil {
			p.reopened(e, r.events[ref], r.Whole)
			continue
		}
		if x := r.events[ref]; x.pending && (r.Whole || kept) {
			p.add(&eventlog.EventPublished{Topic: ref.Topic, MessageID: ref.MessageID, Title: x.title, Payload: x.payload},
				len(x.payload))
		} else {
			f := x.outcome(ref)
			p.add(f, len(f.Payload))
		}
	}
}

// reopened ends an event that has ended in the state, and was redriven and may have been handled since: otherwise a
// redrive would do that again without a person's word (O11). An event that a later run held when it was skipped
// again may have been handled by that run: what the state knows of it is about an earlier one. So may an event that an
// earlier loss had ended.
func (p *parts) reopened(e *projections.TopicEvent, x *remnant, whole bool) {
	if e.Status != eventlog.EventStatusSkipped && e.Status != eventlog.EventStatusDiscarded {
		return
	}
	later := x.skippedBy != "" && x.skippedBy != e.ReservedBy
	if x.consumed || (x.reopened || later || x.unknown && !e.WasUnknown) && !e.Unknown {
		p.add(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID}, 0)
		if x.pending && whole { // it is known to wait
			p.keepAsking(e, x)
			return
		}
		f := x.outcome(eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
		f.Title, f.Payload = e.Title, nil // the state has the payload
		p.add(f, 0)
	}
}

// takeOver brings script, grants and saved states up to what is known of them.
func (p *parts) takeOver(r *Remains) {
	s := p.d.state()
	if s.Archived || p.full() {
		return
	}
	if f := r.deployed; f != nil && f.Version != s.Version {
		again := *f
		if again.Grants == nil {
			again.Grants = r.grants
		}
		// What holds an event may be unknown to the script that is taken over, such as to a plain consumer (C9).
		for _, e := range p.d.heldEvents() {
			if p.full() {
				return
			}
			if e.Status == eventlog.EventStatusPending {
				p.add(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID}, 0)
			}
		}
		p.add(&again, len(f.Source))
	}
	if r.grants != nil && !maps.Equal(r.grants, s.Grants) {
		p.add(&eventlog.WorkflowGranted{Grants: r.grants}, 0)
	}
	for _, name := range slices.Sorted(maps.Keys(r.states)) {
		if p.full() {
			return
		}
		if h := s.Handler(name); h != nil && !bytes.Equal(h.State, r.states[name]) {
			p.add(&eventlog.HandlerStateSaved{Handler: name, State: r.states[name]}, len(r.states[name]))
		}
	}
}

func (p *parts) full() bool {
	return p.maxFacts > 0 && p.n >= p.maxFacts || p.maxBytes > 0 && p.bytes >= p.maxBytes
}

func (p *parts) add(f eventlog.Fact, size int) {
	p.d.emit(f)
	p.n++
	p.bytes += size + 200
}

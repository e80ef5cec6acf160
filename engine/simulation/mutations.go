package simulation

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// mutation checks the facts about mutations against what happened in the world.
func (j *judge) mutation(b *book, r eventlog.Record, f eventlog.Fact) {
	s := j.sim
	switch f := f.(type) {
	case *eventlog.MutationStarted:
		if j.started[f.Key] != nil {
			s.violate("mutation %s is started twice", s.alias(f.Key))
		}
		j.started[f.Key], j.deadlines[f.Key] = f, j.trueTime(r, f.Deadline)
		j.startedIn(b, f.Key)
		j.calls(b, f)
		b.keys[f.Mutation], b.open[f.Mutation] = f.Key, f.Run
		j.barriers[r.ID] = barrier{key: f.Key, revision: r.Revision}
		j.allowedAgain(b, f)
	case *eventlog.MutationRefused:
		if run := b.run(f.Run); run.Status == eventlog.RunStatusActive || run.Phase.PastMutation() {
			s.violate("the call of run %s is refused and the run is %s in %s (F14, R17)", s.alias(string(f.Run)), run.Status,
				run.Phase)
		}
	case *eventlog.MutationApplied:
		if f.ResolvedBy == eventlog.ResolvedByUserApplied {
			j.word(b, f) // a person's word, whatever happened or still happens
		} else if sent := s.world.requests[b.keys[f.Mutation]]; sent == nil || sent.effects == 0 {
			s.violate("mutation %s is recorded as applied and never was", s.alias(string(f.Mutation)))
		}
		delete(b.open, f.Mutation)
	case *eventlog.MutationFailed:
		j.failed(b, f)
		delete(b.open, f.Mutation)
	case *eventlog.MutationSkipped:
		delete(b.open, f.Mutation)
		state := b.state()
		for _, ref := range b.run(f.Run).Reserved {
			if e := state.Event(ref.Topic, ref.MessageID); e.Status != eventlog.EventStatusSkipped {
				s.violate("mutation %s is skipped and event %s of topic %s is %s (O2, O5)", s.alias(string(f.Mutation)),
					ref.MessageID, ref.Topic, e.Status)
			}
		}
	case *eventlog.MutationResent:
		j.resentAgain(b, r, f)
	case *eventlog.MutationReconcileScheduled:
		if key := b.keys[f.Mutation]; f.OverAt == 0 {
			s.stillOpen(s.world.requests[key], j.deadlines[key])
		}
	case *eventlog.MutationLeftIndeterminate:
		key := b.keys[f.Mutation]
		s.stillOpen(s.world.requests[key], j.deadlines[key])
		j.leftOpen(b, key)
	case *eventlog.MutationGivenUp:
		if !j.reported[f.Mutation] {
			s.violate("mutation %s is given up and was not in the report", s.alias(string(f.Mutation)))
		}
		delete(b.open, f.Mutation)
	case *eventlog.MutationContradicted:
		key := b.keys[f.Mutation]
		effects := 0
		if sent := s.world.requests[key]; sent != nil {
			effects = sent.effects
		}
		// That nothing has left is an answer too: to a person's word that it happened.
		if (effects > 0) != (f.Outcome == "applied") {
			s.violate("mutation %s is contradicted by an answer that was never given: %s", s.alias(key), f.Outcome)
		}
	}
}

// resentAgain: a call is sent again only for a receiver that knows it, as long as it does, and once nothing of it can
// be under way (F5).
func (j *judge) resentAgain(b *book, r eventlog.Record, f *eventlog.MutationResent) {
	s, key := j.sim, b.keys[f.Mutation]
	sent, state := s.world.requests[key], b.state()
	m := state.Mutation(f.Mutation)
	if end := m.StartedAt.Add(s.within - decide.ResendMargin); s.within == 0 || f.Deadline > end {
		s.violate("mutation %s is sent again until %s, and its receiver knows it until %s (F5)", s.alias(key), f.Deadline,
			end)
	}
	if sent != nil && sent.busy(s.clock.Now()) {
		s.violate("mutation %s is sent again and its receiver may still be busy with it (F5)", s.alias(key))
	}
	j.resends[key]++
	j.deadlines[key] = j.trueTime(r, f.Deadline)
	delete(j.overtaken, key)
	j.barriers[r.ID] = barrier{key: key, revision: r.Revision}
}

// leftOpen: another process's call is left to a person only once its receiver cannot be at work on it any more (F5). Of
// a writer that has died with its append it is not known which process it was.
func (j *judge) leftOpen(b *book, key string) {
	if r := j.sim.world.requests[key]; r != nil && b.writer != nil && b.writer != r.node && r.busy(j.sim.clock.Now()) {
		j.sim.violate("mutation %s is left to a person and its receiver may still be busy with it (F5)", j.sim.alias(key))
	}
}

// word notes the chain of which a person has said that its mutation happened (O4).
func (j *judge) word(b *book, f *eventlog.MutationApplied) {
	state := b.state()
	var params prepared
	if err := json.Unmarshal(state.Mutation(f.Mutation).Call.Params, &params); err != nil {
		j.sim.violate("mutation %s has parameters that no script gave: %v", j.sim.alias(string(f.Mutation)), err)
	}
	j.asserted[params.Tag] = true
}

func (j *judge) failed(b *book, f *eventlog.MutationFailed) {
	s := j.sim
	key := b.keys[f.Mutation] // empty when it never started
	r := s.world.requests[key]
	if f.ResolvedBy == eventlog.ResolvedByUserFailed {
		if r != nil && r.busy(s.clock.Now()) && r.leftOpen() {
			s.violate("a person says that mutation %s did not happen, and its receiver may still be busy with it (O1)",
				s.alias(key))
		}
		// A person's word frees the events, whatever has happened.
		run := b.run(f.Run)
		s.world.excuse(b.name, run.Reserved...)
		return
	}
	if r != nil && r.effects > 0 {
		s.violate("mutation %s is recorded as failed (%s, %s) and took effect", s.alias(key), f.Failure.Code, f.ResolvedBy)
	}
	if r != nil && r.busy(s.clock.Now()) {
		s.violate("mutation %s is recorded as failed (%s, %s) and its receiver may still be busy with it (F5)", s.alias(key),
			f.Failure.Code, f.ResolvedBy)
	}
	if key != "" {
		j.undone[key] = true
	}
}

// leftAlone: a receiver that has said when to come again is left alone for so long, at most an hour, and that
// counts against no job and no workflow (F13).
func (j *judge) leftAlone(b *book, r eventlog.Record, f eventlog.Fact, before *projections.State) {
	asked := func(id eventlog.RunID) (time.Duration, bool) {
		run := b.run(id)
		if run == nil || run.Failure == nil || run.Failure.Code != codeBusy {
			return 0, false
		}
		return min(j.sim.world.requests[b.keys[run.Mutation]].retryAfter, eventlog.MaxRetryAfter), true
	}
	switch f := f.(type) {
	case *eventlog.EventDiscarded:
		j.deadLetter(b, r, f)
		if _, busy := asked(f.Run); busy {
			j.sim.violate("event %s of topic %s is discarded since its receiver was busy (F13)", f.MessageID, f.Topic)
		}
	case *eventlog.EventRetryScheduled:
		wait, busy := asked(f.Run)
		if busy && (!f.Uncounted || f.At < r.At.Add(wait)) {
			j.sim.violate("event %s of topic %s is tried again at %s (counted: %v), and its receiver wants to be left alone "+
				"for %s (F13)", f.MessageID, f.Topic, f.At, !f.Uncounted, wait)
		}
	case *eventlog.BackoffStarted:
		for _, other := range r.Facts {
			failed, ok := other.(*eventlog.RunFailed)
			if !ok {
				continue
			}
			attempt := 0
			if before.Backoff != nil {
				attempt = before.Backoff.Attempt
			}
			if wait, busy := asked(failed.Run); busy && (f.Attempt > attempt || f.Until < r.At.Add(wait)) {
				j.sim.violate("%s backs off until %s, attempt %d after %d, and its receiver wants to be left alone for %s (F13)",
					b.name, f.Until, f.Attempt, attempt, wait)
			}
		}
	}
}

// resent: an engine sends an append again. If the first try has written it and another engine has
// gone on from there, the request must not leave any more.
func (j *judge) resent(e eventlog.Entry) {
	if at, written := j.barriers[e.ID]; written && uint64(len(j.book(e.Workflow).past)) > at.revision {
		j.overtaken[at.key] = true
	}
}

// nextGiven: every run of a chain gives next the same result, and it is the true one (R15).
func (j *judge) nextGiven(tag int, given string, status string) {
	s := j.sim
	if before, ok := j.seen[tag]; ok && before != given {
		s.violate("next of chain %d was given %s and then %s (R15)", tag, before, given)
	}
	j.seen[tag] = given
	effects, sent := 0, 0
	for _, r := range s.world.order {
		if r.Tag == tag && r.sent > 0 {
			effects += r.effects
			sent += r.sent
		}
	}
	switch {
	case status == "applied" && effects != 1 && !j.asserted[tag]:
		s.violate("next of chain %d was told of an applied mutation, and there were %d effects", tag, effects)
	case status == "none" && sent != 0:
		s.violate("next of chain %d was told of no mutation, and %d requests had left", tag, sent)
	}
}

// deadLetter: what is discarded leaves one event in the dead-letter topic, in its own transition (J7).
func (j *judge) deadLetter(b *book, r eventlog.Record, f *eventlog.EventDiscarded) {
	letters := 0
	for _, other := range r.Facts {
		published, ok := other.(*eventlog.EventPublished)
		if !ok || published.Topic != topicFree || published.CreatedBy != f.Run {
			continue
		}
		var letter struct {
			Topic     eventlog.Topic     `json:"topic"`
			MessageID eventlog.MessageID `json:"messageId"`
		}
		if err := json.Unmarshal(published.Payload, &letter); err != nil {
			j.sim.violate("a dead letter of %s cannot be read: %v", b.name, err)
		}
		if letter.Topic == f.Topic && letter.MessageID == f.MessageID {
			letters++
		}
	}
	if letters != 1 {
		j.sim.violate("event %s of topic %s in %s is discarded with %d dead letters (J7)", f.MessageID, f.Topic, b.name,
			letters)
	}
}

package decide

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// failOne ends a run of one event with the failure. What F7 and R16 do to a workflow, C5 does to the event.
func (d *decision) failOne(run *projections.Run, f eventlog.Failure) {
	d.kind = "run.failed"
	d.emit(&eventlog.RunFailed{Run: run.ID, Status: StatusOf(f.Class), Failure: f})
	d.disposeOne(run, f)
}

// disposeOne decides what becomes of the event of a one-event run that ended, by the cases of R16 in their order. f has
// no class where the run crashed or ended because of a fault of the engine: that is no failure of the event.
func (d *decision) disposeOne(run *projections.Run, f eventlog.Failure) {
	if d.err != nil {
		return
	}
	m := d.state().Mutation(run.Mutation)
	switch {
	case m != nil && m.Status.Unresolved(): // (a) before anything that looks at the phase
		d.emit(&eventlog.RunRetryOwed{Run: run.ID})
	case run.Phase.PastMutation(): // (c)
		d.oweNext(run, f)
	default: // (d)
		d.releaseOne(run, f)
	}
}

// oweNext leaves the rest of an ended run to a retry of next: never prepare or mutate again (C5).
func (d *decision) oweNext(run *projections.Run, f eventlog.Failure) {
	e := d.ownEvent(run)
	owed := &eventlog.RunRetryOwed{Run: run.ID, Attempt: run.Tries}
	hold := eventlog.HeldReason("")
	switch {
	case f.Class == "": // at once (J6)
	case f.Class == eventlog.Transient, e == nil:
		// Where a person has skipped the event there is none to hold: next alone is tried again, and changes nothing
		// outside.
		wait, attempt, attention := d.nextTry(run.Tries, f)
		owed.At, owed.Attempt, owed.Attention = d.env.Now.Add(wait), attempt, attention
		if attention && e != nil && d.holds(f) {
			owed.At, hold = 0, eventlog.HeldPerson
		}
	case f.Class == eventlog.Logic:
		owed.Attempt, hold = run.Tries+1, d.repairOrPerson(run, d.chainFailedByScript(run))
	default:
		owed.Attempt, hold = run.Tries+1, eventlog.HeldPerson
	}
	d.emit(owed)
	if hold != "" {
		d.holdEvent(run, e, hold)
	}
}

// releaseOne gives the event of a run back with nothing applied and nothing open (R16 d, C5).
func (d *decision) releaseOne(run *projections.Run, f eventlog.Failure) {
	e := d.ownEvent(run)
	if e == nil {
		return
	}
	if f.Class != "" && d.targetsFault(run, e, f) {
		return
	}
	limit := d.consumer(run).MaxAttempts
	released := &eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID}
	switch {
	case f.Class == "":
		// A run that did not come to choose its event was no execution (C8).
		released.Uncounted = run.Phase == eventlog.PhasePreparing
		d.emit(released)
	case f.Class == eventlog.Transient:
		counts := f.RetryAfter == 0 && !d.own(f)
		if limit != nil && counts {
			counts = d.countsAttempt(run, e, f, d.state().Handler(run.Handler).Probing != nil)
		}
		if limit != nil && counts && e.Failures >= *limit {
			d.discard(run, e, f)
			return
		}
		wait, _, attention := d.nextTry(e.Tries, f)
		if attention && d.holds(f) {
			d.emit(released)
			d.holdEvent(run, e, eventlog.HeldPerson)
			return
		}
		d.retryLater(run, e, d.env.Now.Add(wait), counts, attention)
	case f.Class == eventlog.Logic && limit != nil: // J2
		if e.Failures >= *limit {
			d.discard(run, e, f)
			return
		}
		wait := schedule.JobBackoff(e.Tries+1, d.env.Jitter, d.env.Policies.Transient.Max)
		d.retryLater(run, e, d.env.Now.Add(wait), true, false)
	case f.Class == eventlog.Logic:
		reason := d.repairOrPerson(run, failedByScript(e))
		d.emit(released)
		if reason != "" {
			d.holdEvent(run, e, reason)
		}
	default:
		d.emit(released)
		d.holdEvent(run, e, eventlog.HeldPerson)
	}
}

// repairOrPerson returns what the event is held for after a failure of the script: a repair, or a person once the
// repair budget is spent (F9). It is empty where a newer version is deployed already. again says that the event failed
// like this before: then the last repair did not help, and counts.
func (d *decision) repairOrPerson(run *projections.Run, again bool) eventlog.HeldReason {
	s := d.state()
	h, script := s.Handler(run.Handler), s.Script(run.Version)
	if run.Version != s.Version {
		return ""
	}
	if h == nil || script == nil {
		return eventlog.HeldPerson
	}
	budget := d.env.Policies.Repair.Budget
	if again && script.Repair && h.RepairVersion != run.Version && h.RepairFailures < budget {
		d.countRepair(run.Handler)
		h = d.state().Handler(run.Handler)
	}
	if h.RepairFailures >= budget {
		return eventlog.HeldPerson
	}
	return eventlog.HeldRepair
}

// countRepair notes that one more repair has not helped, or was refused. With the last of the budget, what waits for a
// repair waits for a person (F9, C5).
func (d *decision) countRepair(handler eventlog.Handler) {
	h := d.state().Handler(handler)
	if h == nil || d.err != nil {
		return
	}
	failures := h.RepairFailures + 1
	d.emit(&eventlog.HandlerRepairCounted{Handler: handler, Failures: failures})
	if failures < d.env.Policies.Repair.Budget {
		return
	}
	c, _ := d.state().Definition().Consumer(handler)
	for _, e := range d.heldEvents() {
		if e.Held.Reason == eventlog.HeldRepair && c.Subscribes(e.Topic) {
			d.emit(&eventlog.EventHeld{Topic: e.Topic, MessageID: e.MessageID, Run: e.Held.Run,
				Reason: eventlog.HeldPerson})
		}
	}
}

func (d *decision) retryLater(run *projections.Run, e *projections.TopicEvent, at eventlog.Instant, counts,
	attention bool) {
	d.emit(&eventlog.EventRetryScheduled{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, At: at, Uncounted: !counts,
		Attention: attention})
}

// nextTry is how long the next try waits after so many failed ones, which of them it then is, and whether a person
// should look (F8). A target that says when to come again is at work: that counts no try (F13).
func (d *decision) nextTry(tries int, f eventlog.Failure) (wait time.Duration, attempt int, attention bool) {
	p := d.env.Policies.Transient
	if f.RetryAfter > 0 {
		return retryAfter(f), tries, false
	}
	attempt = tries + 1
	return p.Delay(attempt, d.env.Jitter), attempt, attempt >= max(p.Retries, 1)
}

// holdEvent keeps the event from going on. One that is held for the same reason already stays as it is.
func (d *decision) holdEvent(run *projections.Run, e *projections.TopicEvent, reason eventlog.HeldReason) {
	if d.err != nil || e == nil {
		return
	}
	if now := d.state().Event(e.Topic, e.MessageID); now == nil || now.Held != nil && now.Held.Reason == reason {
		return
	}
	d.emit(&eventlog.EventHeld{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason})
}

// freeEvent ends what holds the event of the run, if anything does.
func (d *decision) freeEvent(run *projections.Run) {
	if e := d.ownEvent(run); d.err == nil && e != nil && e.Held != nil {
		d.emit(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID})
	}
}

// ownEvent is the event that the run of one event still has, nil once that has ended.
func (d *decision) ownEvent(run *projections.Run) *projections.TopicEvent {
	for _, e := range d.state().ReservedBy(run) {
		return e
	}
	return nil
}

// freeAtResume frees what waits for a person, ends back-offs, and begins the count of uncertain calls anew (C3, C5,
// F8). With budget it begins the counts of failed repairs anew, too (F9).
func (d *decision) freeAtResume(budget bool) {
	for _, e := range d.heldEvents() {
		if e.Held.Reason == eventlog.HeldPerson {
			d.freeHeld(e)
		}
	}
	for _, c := range d.state().Definition().Consumers {
		h := d.state().Handler(c.Name)
		if h == nil {
			continue
		}
		d.endBackoffs(h)
		if len(h.Uncertain) > 0 {
			d.emit(&eventlog.HandlerUncertainCounted{Handler: c.Name})
		}
	}
	if budget {
		d.restartBudgets()
	}
}

// freeHeld frees an event that a person lets go on. Where it had failed transiently too often (transient.then: hold),
// its count begins anew, as that of a workflow does (F8).
func (d *decision) freeHeld(e *projections.TopicEvent) {
	if last := lastFailed(e); e.Status == eventlog.EventStatusPending && last != nil &&
		last.Failure.Class == eventlog.Transient {
		d.emit(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
		return
	}
	run := d.state().Run(e.ReservedBy)
	d.emit(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID})
	if run != nil && run.Owes && run.Failure != nil && run.Failure.Class == eventlog.Transient {
		d.emit(&eventlog.RunRetryOwed{Run: run.ID})
	}
}

// freeAtDeploy frees what waits for a repair. A person's plain redeploy also frees events whose repairs were given up:
// they wait for exactly such a deploy (C5, F9).
func (d *decision) freeAtDeploy(plain bool) {
	for _, e := range d.heldEvents() {
		reason := e.Held.Reason
		if reason == eventlog.HeldRepair || plain && reason == eventlog.HeldPerson && d.heldByScript(e) {
			d.emit(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID})
		}
	}
}

// restartBudgets begins the count of failed repairs anew, also of handlers that the script has no more (F9).
func (d *decision) restartBudgets() {
	var counted []eventlog.Handler // collected first: each fact changes the state
	for name, h := range d.state().Handlers() {
		if h.RepairFailures > 0 {
			counted = append(counted, name)
		}
	}
	for _, name := range counted {
		d.emit(&eventlog.HandlerRepairCounted{Handler: name})
	}
}

// heldEvents lists the events that are held, the oldest first. All of them are in memory.
func (d *decision) heldEvents() (held []*projections.TopicEvent) {
	if len(d.state().Counts.Held) == 0 {
		return nil
	}
	for _, e := range d.state().Events() {
		if e.Held != nil {
			held = append(held, e)
		}
	}
	slices.SortFunc(held, func(a, b *projections.TopicEvent) int {
		if a.Created.Before(b.Created) {
			return -1
		}
		return 1
	})
	return held
}

// heldByScript reports whether the held event waits because the script failed on it.
func (d *decision) heldByScript(e *projections.TopicEvent) bool {
	if e.Status == eventlog.EventStatusPending {
		last := lastFailed(e)
		return last != nil && last.Failure.Class == eventlog.Logic
	}
	run := d.state().Run(e.ReservedBy)
	return run != nil && run.Failure != nil && run.Failure.Class == eventlog.Logic
}

// failedByScript reports whether the script has failed on the event before, whatever else has failed since (F9).
func failedByScript(e *projections.TopicEvent) bool {
	return slices.ContainsFunc(e.Attempts, func(a projections.Attempt) bool {
		return a.Failure != nil && a.Failure.Class == eventlog.Logic
	})
}

// chainFailedByScript reports whether the script has failed in the run's next before, whatever else has failed since.
func (d *decision) chainFailedByScript(run *projections.Run) bool {
	for before := range d.chain(run) {
		if before.Failure != nil && before.Failure.Class == eventlog.Logic {
			return true
		}
	}
	return false
}

// redriveHeld is J3 for a held event: with nothing applied or open it is available again, with its count reset; past
// its mutation the rest of its run is tried now; while an outcome or an approval is open, it is refused.
func (d *decision) redriveHeld(e *projections.TopicEvent) *Refusal {
	if e.Status == eventlog.EventStatusPending {
		d.emitNamingIfFirst(&eventlog.EventRedriven{Topic: e.Topic, MessageID: e.MessageID})
		return nil
	}
	s := d.state()
	run := s.Run(e.ReservedBy)
	if run != nil && run.Owes && run.Phase.PastMutation() {
		d.emitNamingIfFirst(&eventlog.EventFreed{Topic: e.Topic, MessageID: e.MessageID})
		return nil
	}
	no := refuse(Conflict, "mutation.unresolved", "event %q of topic %q is held for %s: what becomes of its call is open",
		eventlog.ClipName(e.MessageID), e.Topic, e.Held.Reason)
	switch {
	case run == nil || run.Mutation == "":
	case e.Held.Reason == eventlog.HeldApproval:
		return no.hint(hint.ApproveOrReject, run.Mutation)
	default:
		return no.hint(hint.SettleFirst, run.Mutation)
	}
	return no.hint(hint.SettleFirstWhy, s.Name)
}

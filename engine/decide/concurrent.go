package decide

import (
	"math"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// UncertainStreak is how many calls in a row may end without a known outcome before no run begins any more (C3).
const UncertainStreak = 3

// beginning is what a concurrent consumer begins next: a run that comes back, or one for a pending event.
type beginning struct {
	run   *projections.Run
	event projections.Candidate
}

// Owed names all that the state owes the world, in a fixed order: the crash of runs whose runner is gone, questions
// about calls, what active runs do next, what may begin, and what the plain handlers owe. Waits stand at the end; where
// there is nothing else, they say what the workflow waits for. For a workflow without concurrent consumers it is what
// Next says.
func Owed(s *projections.State, at Present) []Todo {
	var crash, ask, run, start, wait []Todo
	for r := range s.OpenRuns() {
		m := s.Mutation(r.Mutation)
		switch {
		case r.Status == eventlog.RunStatusActive && r.Engine != at.Engine:
			if crash == nil { // one Recover is for all
				crash = []Todo{CrashRun{Run: r.ID}}
			}
		case r.Status == eventlog.RunStatusActive:
			run = append(run, nextOfRun(s, r, at.Engine))
		case r.EndedAt != 0 && m != nil && m.Status.Unresolved():
			switch todo := nextOfUnresolved(s, m, at.Now, at.Engine).(type) {
			case Wait:
				wait = append(wait, todo)
			default:
				ask = append(ask, todo)
			}
		case r.EndedAt == 0 && m != nil && m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt == 0:
			wait = append(wait, Wait{Reason: ReasonApproval, Subject: string(m.ID)})
		}
	}
	for _, c := range s.Definition().Consumers {
		if !c.Concurrent() {
			continue
		}
		if next, ok := nextBeginning(s, c, at.Now, at.MaxHeld); ok {
			todo := StartRun{Handler: c.Name, Type: eventlog.ConsumerHandler}
			switch {
			case next.run == nil:
				start = append(start, BeginEvent{Handler: c.Name, Place: next.event})
				continue
			case next.run.Owes:
				todo.RetryOf = next.run.ID
			}
			start = append(start, todo)
		} else if next, ok := soonestBeginning(s, c, at); ok {
			wait = append(wait, next)
		}
	}
	todos := slices.Concat(crash, ask, run, start)
	return append(append(todos, Next(s, at.Now, at.Engine)), wait...)
}

// nextBeginning says what the consumer begins next at now, if there is anything and a place for it: runs that come
// back, the soonest first, then the oldest event that may begin. While events wait of which no attempt has failed,
// retries take at most half of the places (C1, C3). maxHeld bounds the events that may be kept back.
func nextBeginning(s *projections.State, c eventlog.Consumer, now eventlog.Instant, maxHeld int) (beginning, bool) {
	h := s.Handler(c.Name)
	if h != nil && s.Archived {
		return lastOfArchived(s, c, now)
	}
	if h == nil || !mayBegin(s) {
		return beginning{}, false
	}
	active := s.Places(c.Name)
	if active >= c.Concurrency || active > 0 && h.Probing != nil {
		return beginning{}, false
	}
	untried, waits := first(s.Offered(c, false, now))
	mayRetry := func() bool { return !waits || retries(s, c) < max(1, c.Concurrency/2) }
	mayStart := atRate(c, h, now)
	back, retry := nextBack(s, c, h, now, mayStart, mayRetry)
	if back != nil {
		return beginning{run: back}, true
	}
	mayBeginNew := mayStart && len(h.Uncertain) < UncertainStreak && hasRoom(s, c, maxHeld)
	if h.Probing != nil && mayBeginNew && probeAt(h.Probing, now) <= now && (retry == nil || !h.Probing.Probed) {
		// Probes and retries take turns at the only place: either could otherwise keep the others from it for ever.
		if probe, ok := nextProbe(s, c, now); ok {
			return beginning{event: probe}, true
		}
	}
	if retry != nil {
		return beginning{run: retry}, true
	}
	if !mayBeginNew || h.Probing != nil {
		return beginning{}, false
	}
	tried, again := first(s.Offered(c, true, now))
	if again && (!waits || tried.Created.Before(untried.Created)) && mayRetry() {
		return beginning{event: tried}, true
	}
	return beginning{event: untried}, waits
}

// nextBack finds the runs that come back. back comes back for the first time, or with its approved call, and goes
// before a probe. retry is a run whose next is tried again.
func nextBack(s *projections.State, c eventlog.Consumer, h *projections.Handler, now eventlog.Instant, mayStart bool,
	mayRetry func() bool) (back, retry *projections.Run) {
	for run, at := range s.Returning(c.Name) {
		if at > now || retry != nil && h.Probing == nil { // where nothing is probed, the soonest goes first
			break
		}
		switch {
		case !run.Owes && !braked(h, run, now), run.Owes && mayStart && run.Tries == 0:
			return run, retry
		case retry == nil && run.Owes && mayStart && mayRetry():
			retry = run
		}
	}
	return nil, retry
}

// keptBack is how many of the consumer's events are held, or have a run that waits for a place. All of them are in
// memory, so their number is bounded (C3).
func keptBack(s *projections.State, c eventlog.Consumer) int {
	return s.HeldFor(c) + s.KeptByReturning(c.Name) - s.HeldAndSkipped(c.Name)
}

// hasRoom reports whether a run may begin for another event of the consumer: fewer than maxHeld are kept back (C3).
func hasRoom(s *projections.State, c eventlog.Consumer, maxHeld int) bool {
	most := s.HeldFor(c) + s.KeptByReturning(c.Name) // without the look at each held event
	return most < maxHeld || keptBack(s, c) < maxHeld
}

// braked reports whether a run that comes back with an approved call has to wait as a new run would: until the
// outcome of a call in a row of unknown ones is known (C3), or until the next probe is due (C7). Its call goes to the
// same target.
func braked(h *projections.Handler, run *projections.Run, now eventlog.Instant) bool {
	return !run.Owes && !run.Phase.PastMutation() && (len(h.Uncertain) >= UncertainStreak ||
		h.Probing != nil && probeAt(h.Probing, now) > now)
}

// lastOfArchived lets a run whose call a person has rejected come to its end after an archive, which stops only runs
// before their mutation (C8, O6). A pause of before does not keep it: nobody can end that any more.
func lastOfArchived(s *projections.State, c eventlog.Consumer, now eventlog.Instant) (beginning, bool) {
	if s.Places(c.Name) >= c.Concurrency {
		return beginning{}, false
	}
	for run, at := range s.Returning(c.Name) {
		if at <= now && comesBack(s, run) {
			return beginning{run: run}, true
		}
	}
	return beginning{}, false
}

// comesBack reports whether a run that waits for its place begins again at all: after an archive only one that has its
// end left to run.
func comesBack(s *projections.State, run *projections.Run) bool {
	return !s.Archived || !run.Owes && run.Phase.PastMutation()
}

// retries is how many of the consumer's active runs are retries.
func retries(s *projections.State, c eventlog.Consumer) (n int) {
	for run := range s.Active(c.Name) {
		if retried(s, run) {
			n++
		}
	}
	return n
}

// retried reports whether the active run is a retry: an attempt of its event, or of its next, has failed before. A run
// whose event was skipped only brings its next to an end, and counts as none: memory need not have that event.
func retried(s *projections.State, run *projections.Run) bool {
	if run.RetryOf != "" {
		return run.Tries > 0
	}
	e := s.Event(run.Event.Topic, run.Event.MessageID)
	return e != nil && e.Status == eventlog.EventStatusReserved && e.FailedAt != 0
}

// forever is later than any time.
const forever eventlog.Instant = math.MaxInt64

// probeAt is when the next probe is due: now, where it would be later than any target may ask for, since then the clock
// was set back meanwhile (C7, F13).
func probeAt(p *projections.Probing, now eventlog.Instant) eventlog.Instant {
	if p.At > now.Add(eventlog.MaxRetryAfter) {
		return now
	}
	return p.At
}

// nextProbe is the event that a consumer is tried with: one that has not failed, else the one that failed longest ago,
// whatever back-off it has (C7). Of those that have not failed it is the oldest and the newest in turns: where many
// events one behind the other are at fault, the newest soon shows that the target works for others.
func nextProbe(s *projections.State, c eventlog.Consumer, now eventlog.Instant) (projections.Candidate, bool) {
	untried, ok := first(s.Offered(c, false, now))
	if s.Handler(c.Name).Probing.Newest {
		untried, ok = s.NewestUntried(c, now)
	}
	if ok {
		return untried, true
	}
	var longest projections.Candidate
	var failedAt uint64
	for tried := range s.Offered(c, true, forever) {
		q, _ := s.Queued(tried.Topic, tried.Created)
		if (q.Visible(now) || q.BacksOff) && (failedAt == 0 || q.FailedAt < failedAt) {
			longest, failedAt = tried, q.FailedAt
		}
	}
	return longest, failedAt != 0
}

// ConsumerStatus says what is under way of a concurrent consumer, what waits, and why it begins nothing more.
type ConsumerStatus struct {
	Consumer eventlog.Consumer
	// Active are its runs that have a place, Returning those that wait for one from now on, and Braked those whose
	// approved call waits for the target or for the outcome of another call first.
	Active, Returning, Braked int
	// KeptBack is how many of its events are held, or have a run that waits for a place now or later. Full says that no
	// run begins for another event, since they are as many as may be (C3).
	KeptBack int
	Full     bool
	// MaxHeld is how many may be kept back before it is full.
	MaxHeld int
	// Offers is how many of its events wait for nothing but their time and a place, Behind how many wait for others of
	// their key (C2).
	Offers, Behind int
	// Waits are the reasons why it begins no further run now; those that need a person come first. Without reasons the
	// next run is about to begin, or nothing waits.
	Waits []Wait
}

// ConsumerStatuses is the status of each concurrent consumer at now.
func ConsumerStatuses(s *projections.State, at Present) (all []ConsumerStatus) {
	for _, c := range s.Definition().Consumers {
		if h := s.Handler(c.Name); c.Concurrent() && h != nil {
			all = append(all, consumerStatus(s, c, h, at))
		}
	}
	return all
}

func consumerStatus(s *projections.State, c eventlog.Consumer, h *projections.Handler, at Present) ConsumerStatus {
	st := ConsumerStatus{Consumer: c, Offers: s.Offers(c), KeptBack: keptBack(s, c), MaxHeld: at.MaxHeld}
	pending := 0
	for _, waiting := range s.Waiting {
		if c.Subscribes(waiting.Topic) {
			pending += waiting.Events
		}
	}
	st.Behind = pending - st.Offers - heldPending(s, c)
	st.Active = s.Places(c.Name)
	for run, due := range s.Returning(c.Name) {
		if due > at.Now {
			break
		}
		switch {
		case !comesBack(s, run):
		case braked(h, run, at.Now):
			st.Braked++
		default:
			st.Returning++
		}
	}
	if !mayBegin(s) {
		return st
	}
	wait := func(reason Reason, until eventlog.Instant) {
		st.Waits = append(st.Waits, Wait{Reason: reason, Until: until, Subject: string(c.Name)})
	}
	st.Full = st.KeptBack >= at.MaxHeld
	if s.HeldFor(c) >= at.MaxHeld { // with fewer, runs that wait for a place go on by themselves
		wait(ReasonHeldMost, 0)
	}
	if len(h.Uncertain) >= UncertainStreak {
		wait(ReasonUncertain, 0)
	}
	_, untried := first(s.Offered(c, false, at.Now))
	_, tried := first(s.Offered(c, true, at.Now))
	ready := untried || tried || st.Returning > 0
	if ready && (st.Active >= c.Concurrency || h.Probing != nil && st.Active > 0) {
		wait(ReasonPlaces, 0)
	}
	if next, ok := soonestBeginning(s, c, at); ok {
		st.Waits = append(st.Waits, next)
	}
	return st
}

func first(offered func(func(projections.Candidate) bool)) (found projections.Candidate, ok bool) {
	for found := range offered {
		return found, true
	}
	return projections.Candidate{}, false
}

// soonestBeginning is the time until which the consumer begins nothing by itself, and why: the soonest of the events
// that were put off (C6) or failed and of the next probe (C7), or the time that its rate allows (C12) if that is later.
// What failed is named before what was put off, whichever is sooner: it is work that is left (F8). It reports false
// where the consumer waits for no time.
func soonestBeginning(s *projections.State, c eventlog.Consumer, at Present) (Wait, bool) {
	h := s.Handler(c.Name)
	if h == nil || !mayBegin(s) {
		return Wait{}, false
	}
	waits := false
	next := Wait{Reason: ReasonBackoff, Until: forever, Subject: string(c.Name)}
	consider := func(reason Reason, until eventlog.Instant) {
		goesOn, went := reason.Meaning() == GoesOn, waits && next.Reason.Meaning() == GoesOn
		if !waits || goesOn && !went || goesOn == went && until < next.Until {
			next.Reason = reason
		}
		waits, next.Until = true, min(next.Until, until)
	}
	for run, until := range s.Returning(c.Name) {
		if !braked(h, run, at.Now) {
			consider(ReasonBackoff, until)
			break
		}
		if len(h.Uncertain) < UncertainStreak {
			consider(ReasonProbing, h.Probing.At)
		}
	}
	if len(h.Uncertain) < UncertainStreak && hasRoom(s, c, at.MaxHeld) {
		untried, isNew := s.SoonestOffer(c, false)
		tried, again := s.SoonestOffer(c, true)
		probes := h.Probing != nil && probeAt(h.Probing, at.Now) > at.Now
		switch {
		case probes && (isNew || again): // a probe takes one whatever its time
			consider(ReasonProbing, h.Probing.At)
		case isNew && untried <= at.Now: // due already: only the rate can hold it up
			consider(ReasonBackoff, untried)
		case isNew:
			consider(ReasonWake, untried)
		}
		if again && !probes {
			consider(ReasonBackoff, tried)
		}
	}
	if rate := h.StartedAt.Add(c.Spacing()); !atRate(c, h, at.Now) && rate > next.Until {
		if next.Until = rate; next.Reason.Meaning() == GoesOn {
			next.Reason = ReasonRate
		}
	}
	return next, waits && next.Until > at.Now
}

// mayBegin reports whether concurrent consumers may begin runs at all. Back-off, maintenance and the other holds of a
// workflow stop plain handlers only (C8).
func mayBegin(s *projections.State) bool {
	held := s.Blocked != nil &&
		(s.Blocked.Reason == eventlog.BlockContradiction || s.Blocked.Reason == eventlog.BlockLoss)
	return !s.Archived && s.Pause == nil && !held
}

// atRate is C12: the next run begins so long after the last one. A start that lies ahead was recorded by a clock that
// has been set back: it keeps nothing waiting.
func atRate(c eventlog.Consumer, h *projections.Handler, now eventlog.Instant) bool {
	spacing := c.Spacing()
	return spacing == 0 || h.StartedAt == 0 || h.StartedAt > now || now >= h.StartedAt.Add(spacing)
}

// heldPending is how many pending events of the consumer are held. All of them are in memory.
func heldPending(s *projections.State, c eventlog.Consumer) (n int) {
	if s.HeldFor(c) == 0 {
		return 0
	}
	for _, e := range s.Events() {
		if e.Held != nil && e.Status == eventlog.EventStatusPending && c.Subscribes(e.Topic) {
			n++
		}
	}
	return n
}

package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// uncertainRow is how many calls in a row may end without a known outcome before no run begins any more (C3).
const uncertainRow = 3

// beginning is what a concurrent consumer begins next: a run that comes back, or one for a pending event.
type beginning struct {
	run   *projections.Run
	event projections.Candidate
}

// mayBegin reports whether anything of the workflow's concurrent consumers may begin: back-off, maintenance and other
// holds are those of plain handlers (C8).
func mayBegin(s *projections.State) bool {
	held := s.Blocked != nil &&
		(s.Blocked.Reason == eventlog.BlockContradiction || s.Blocked.Reason == eventlog.BlockLoss)
	return !s.Archived && s.Pause == nil && !held
}

// nextBeginning says what the consumer begins next at now, if there is anything and a place for it: runs that come
// back, the soonest first, then the oldest event that may begin. While events wait of which no attempt has failed,
// retries take at most half of the places (C1, C3). mostHeld bounds the events that may be held.
func nextBeginning(s *projections.State, c eventlog.Consumer, now eventlog.Instant, mostHeld int) (beginning, bool) {
	h := s.Handler(c.Name)
	if h == nil || !mayBegin(s) {
		return beginning{}, false
	}
	active, retries := 0, 0
	for run := range s.Active(c.Name) {
		if active++; retried(s, run) {
			retries++
		}
	}
	if active >= c.Concurrency || active > 0 && h.Probing != nil {
		return beginning{}, false
	}
	untried, waits := first(s.Offered(c, false, now))
	mayRetry := !waits || retries < max(1, c.Concurrency/2)
	mayStart := atRate(c, h, now)
	for run, at := range s.Returning(c.Name) {
		if at > now {
			break
		}
		if again := run.Owes; !again || mayStart && (mayRetry || run.Tries == 0) {
			return beginning{run: run}, true
		}
	}
	if !mayStart || len(h.Uncertain) >= uncertainRow || s.HeldFor(c) >= mostHeld {
		return beginning{}, false
	}
	if h.Probing != nil {
		if h.Probing.At > now {
			return beginning{}, false
		}
		probe, ok := nextProbe(s, c, now)
		return beginning{event: probe}, ok
	}
	tried, again := first(s.Offered(c, true, now))
	if again && mayRetry && (!waits || tried.Created.Before(untried.Created)) {
		return beginning{event: tried}, true
	}
	return beginning{event: untried}, waits
}

// retried reports whether the active run is a retry: something of its event has failed before.
func retried(s *projections.State, run *projections.Run) bool {
	if run.RetryOf != "" {
		return run.Tries > 0
	}
	e := s.Event(run.Event.Topic, run.Event.MessageID)
	return e != nil && e.FailedAt != 0
}

func first(offered func(func(projections.Candidate) bool)) (found projections.Candidate, ok bool) {
	for found := range offered {
		return found, true
	}
	return projections.Candidate{}, false
}

// decide of a tick begins what is due, as every decision does. An event that was read for it and is not there would be
// owed for ever: it is a defect of the local store.
func (c Tick) decide(d *decision) error {
	if c.Place == nil || !d.known[projections.PlaceKey(c.Place.Topic, c.Place.Created)] ||
		d.state().PendingAt(c.Place.Topic, c.Place.Created) != nil {
		return nil
	}
	for _, consumer := range d.state().Definition().Consumers {
		if next, ok := nextBeginning(d.state(), consumer, d.env.Now, d.env.MostHeld); consumer.Concurrent() && ok &&
			next.run == nil && next.event == *c.Place {
			return fmt.Errorf("event %d of transition %d is pending in topic %s, and the local store does not have it",
				c.Place.Created.N, c.Place.Created.Seq, c.Place.Topic)
		}
	}
	return nil
}

// beginRuns lists in this transition what concurrent consumers begin with it: all that has a place (C3). It stops at
// an event that is paged out: the state owes that start, and names what it needs (Names).
func (d *decision) beginRuns() {
	if d.env.Hold != NotHeld {
		return
	}
	for _, c := range d.state().Definition().Consumers {
		for c.Concurrent() && d.err == nil && d.begin(c) {
		}
	}
}

// begin begins the one thing that the consumer begins next. It reports whether there was one, and an id for its run.
func (d *decision) begin(c eventlog.Consumer) bool {
	s := d.state()
	next, ok := nextBeginning(s, c, d.env.Now, d.env.MostHeld)
	switch {
	case !ok:
		return false
	case next.run != nil && !next.run.Owes:
		d.giveBackPlace(next.run)
		return true
	}
	e := s.PendingAt(next.event.Topic, next.event.Created)
	if next.run == nil && e == nil || len(d.runs) == 0 {
		return false
	}
	id := d.freshRun()
	if next.run != nil {
		d.retryOne(c, next.run, id)
	} else {
		d.startOne(c, e, id)
	}
	return true
}

// startOne begins a run for the event, which it reserves (C1).
func (d *decision) startOne(c eventlog.Consumer, e *projections.TopicEvent, id eventlog.RunID) {
	d.led(&eventlog.RunStarted{
		Run: id, Handler: c.Name, HandlerType: eventlog.ConsumerHandler, Version: d.state().Version, Engine: d.env.Engine,
		Phase: eventlog.PhasePreparing, Event: &eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID},
		Key: projections.EventKeyAt(c.Key, e.Payload),
	})
	d.emit(&eventlog.EventReserved{Topic: e.Topic, MessageID: e.MessageID, Run: id})
}

// retryOne begins the retry of next that an ended run owes (R15).
func (d *decision) retryOne(c eventlog.Consumer, owing *projections.Run, id eventlog.RunID) {
	s := d.state()
	began := &eventlog.RunStarted{
		Run: id, Handler: c.Name, HandlerType: eventlog.ConsumerHandler, Version: s.Version, Engine: d.env.Engine,
		Phase: eventlog.PhaseEmitting, RetryOf: owing.ID, Event: owing.Event, Key: owing.Key,
	}
	held := s.Held(owing)
	d.led(began)
	for _, e := range held {
		d.emit(&eventlog.EventTransferred{Topic: e.Topic, MessageID: e.MessageID, Run: id})
	}
	d.emit(&eventlog.RunRetryCleared{Run: owing.ID})
	if !c.HasNext && d.err == nil {
		d.commitHere(id)
	}
}

// giveBackPlace lets a run go on that has waited for a person and then for a place: with its call if that was
// approved, with next if it was rejected (C3).
func (d *decision) giveBackPlace(run *projections.Run) {
	d.led(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	if m := d.state().Mutation(run.Mutation); m != nil && m.Status == eventlog.MutationAwaitingApproval {
		kind := d.kind
		d.startMutation(run, m.ID, m.Call)
		d.kind = kind
		return
	}
	d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseEmitting})
	if d.err == nil && !d.consumer(run).HasNext {
		d.commitHere(run.ID)
	}
}

// commitHere commits a run that has no next, in the transition of something else.
func (d *decision) commitHere(id eventlog.RunID) {
	kind := d.kind
	if err := (CommitRun{Run: id}).decide(d); err != nil && d.err == nil {
		d.err = err
	}
	d.kind = kind
}

// Present is what Owed may know beside the state.
type Present struct {
	Now    eventlog.Instant
	Engine string
	// MostHeld is that of Env.
	MostHeld int
}

// Owed names all that the state owes the world, in a fixed order: the crash of runs whose worker is gone, questions
// about calls, what active runs do next, what may begin, and what the plain handlers owe. Waits stand at the end; where
// there is nothing else, they say what the workflow waits for. For a workflow without concurrent consumers it is what
// Next says.
func Owed(s *projections.State, at Present) []Todo {
	var crash, ask, run, start, wait []Todo
	for r := range s.OpenRuns() {
		m := s.Mutation(r.Mutation)
		switch {
		case r.Status == eventlog.RunActive && r.Engine != at.Engine:
			if crash == nil { // one Recover is for all
				crash = []Todo{CrashRun{Run: r.ID}}
			}
		case r.Status == eventlog.RunActive:
			run = append(run, nextOfRun(s, r, at.Engine))
		case r.EndedAt != 0 && m != nil && m.Status.Unresolved():
			switch todo := nextOfUnresolved(m, at.Now, at.Engine).(type) {
			case Wait:
				wait = append(wait, todo)
			default:
				ask = append(ask, todo)
			}
		case r.EndedAt == 0 && m != nil && m.Status == eventlog.MutationAwaitingApproval && m.ApprovedAt == 0:
			wait = append(wait, Wait{Reason: ReasonApproval, Subject: string(m.ID)})
		}
	}
	for _, c := range s.Definition().Consumers {
		if !c.Concurrent() {
			continue
		}
		if next, ok := nextBeginning(s, c, at.Now, at.MostHeld); ok {
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

// soonestBeginning is what the consumer waits for until time itself lets it begin something: the time of an event that
// was put off (C6) or of one that failed, its next probe (C7), or its rate (C12), whichever of them comes last. It
// reports false where nothing waits that time lets begin.
func soonestBeginning(s *projections.State, c eventlog.Consumer, at Present) (Wait, bool) {
	h := s.Handler(c.Name)
	if h == nil || !mayBegin(s) {
		return Wait{}, false
	}
	waits := false
	next := Wait{Reason: ReasonBackoff, Until: forever, Subject: string(c.Name)}
	own := func(reason Reason, until eventlog.Instant) {
		if waits = true; until < next.Until {
			next.Reason, next.Until = reason, until
		}
	}
	for _, until := range s.Returning(c.Name) {
		own(ReasonBackoff, until)
		break
	}
	if len(h.Uncertain) < uncertainRow && s.HeldFor(c) < at.MostHeld {
		untried, isNew := s.SoonestOffer(c, false)
		tried, again := s.SoonestOffer(c, true)
		probe := h.Probing
		switch {
		case probe != nil && probe.At > at.Now && (isNew || again): // it tries one whatever time that has
			own(ReasonProbing, probe.At)
		default:
			if isNew {
				own(ReasonWake, untried)
			}
			if again {
				own(ReasonBackoff, tried)
			}
		}
	}
	if rate := h.StartedAt.Add(c.Spacing()); !atRate(c, h, at.Now) && rate > next.Until {
		next.Reason, next.Until = ReasonRate, rate
	}
	return next, waits && next.Until > at.Now
}

// namesOfConcurrent lists what a decision may look at of concurrent consumers: the events of the runs that the command
// is about or that may come back, and those that are paged out and may begin.
func namesOfConcurrent(s *projections.State, cmd Command, want func(projections.Key)) {
	event := func(run *projections.Run) {
		if run != nil && run.Event != nil {
			want(projections.EventKey(run.Event.Topic, run.Event.MessageID))
		}
	}
	runs := runsOf(s, cmd)
	for _, run := range runs {
		event(run)
	}
	_, resumes := cmd.(Resume)
	for _, c := range s.Definition().Consumers {
		if !c.Concurrent() {
			continue
		}
		mayEndProbing := resumes || len(runs) > 0
		for range s.Returning(c.Name) {
			mayEndProbing = true
			break
		}
		if h := s.Handler(c.Name); mayEndProbing && h != nil && h.Probing != nil { // its end makes all back-offs due
			for _, ref := range s.ScheduledFor(c.Name) {
				want(projections.EventKey(ref.Topic, ref.MessageID))
			}
		}
		if h := s.Handler(c.Name); len(runs) > 0 && h != nil && h.Row != nil { // one more failure may free them
			for _, ref := range h.Row.Events {
				want(projections.EventKey(ref.Topic, ref.MessageID))
			}
		}
		n := 0
		for run := range s.Returning(c.Name) {
			if event(run); n >= c.Concurrency {
				break
			}
			n++
		}
		n = 0
		for from := range s.Offered(c, false, forever) {
			if want(projections.PlaceKey(from.Topic, from.Created)); n >= c.Concurrency {
				break
			}
			n++
		}
	}
}

// forever is later than any time.
const forever eventlog.Instant = math.MaxInt64

// runsOf lists the runs of concurrent consumers that the command may end or let go on.
func runsOf(s *projections.State, cmd Command) []*projections.Run {
	ofMutation := func(id eventlog.MutationID) []*projections.Run {
		if m := s.Mutation(id); m != nil {
			return []*projections.Run{s.Run(m.Run)}
		}
		return nil
	}
	switch c := cmd.(type) {
	case FinishPrepare:
		return []*projections.Run{s.Run(c.Run)}
	case FinishMutate:
		return []*projections.Run{s.Run(c.Run)}
	case CommitRun:
		return []*projections.Run{s.Run(c.Run)}
	case FailRun:
		return []*projections.Run{s.Run(c.Run)}
	case SettleMutation:
		return ofMutation(c.Mutation)
	case Approve:
		return ofMutation(c.Mutation)
	case Reject:
		return ofMutation(c.Mutation)
	case Resolve:
		return ofMutation(c.Mutation)
	case Recover, Archive, AcceptLoss, Resume, Deploy:
		return slices.Collect(s.OpenRuns())
	}
	return nil
}

// atRate is C12: the next run begins so long after the last one. A start that lies ahead was recorded by a clock that
// has been set back: it keeps nothing waiting.
func atRate(c eventlog.Consumer, h *projections.Handler, now eventlog.Instant) bool {
	spacing := c.Spacing()
	return spacing == 0 || h.StartedAt == 0 || h.StartedAt > now || now >= h.StartedAt.Add(spacing)
}

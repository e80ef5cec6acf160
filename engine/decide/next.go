package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Todo is something that a state owes the world, or waits for.
type Todo interface{ todo() }

type (
	// StartRun: a retry, a consumer or a producer is due, or a run that waited for its place has one (C3).
	StartRun struct {
		Handler eventlog.Handler
		Type    eventlog.HandlerType
		// RetryOf is the ended run whose `next` is still owed (R15).
		RetryOf eventlog.RunID
	}
	// BeginEvent: a concurrent consumer has a place for a run of this pending event, which may be paged out: pass its
	// place to Tick.
	BeginEvent struct {
		Handler eventlog.Handler
		Place   projections.Candidate
	}
	// CrashRun: the active run's runner is gone; record that (R14).
	CrashRun struct{ Run eventlog.RunID }
	// RunProducer: poll the outside.
	RunProducer struct{ Run eventlog.RunID }
	// RunPrepare: choose inputs.
	RunPrepare struct{ Run eventlog.RunID }
	// RunMutate: let the script name its call.
	RunMutate struct{ Run eventlog.RunID }
	// RunNext: publish and save state.
	RunNext struct{ Run eventlog.RunID }
	// AwaitCall: this process's own call is open; its settlement will come.
	AwaitCall struct{ Mutation eventlog.MutationID }
	// ReconcileMutation: find out what became of an uncertain call. Only a call whose host is promised to know it by its
	// key is sent again for that, after a ResendMutation.
	ReconcileMutation struct{ Mutation eventlog.MutationID }
)

func (StartRun) todo()          {}
func (BeginEvent) todo()        {}
func (CrashRun) todo()          {}
func (RunProducer) todo()       {}
func (RunPrepare) todo()        {}
func (RunMutate) todo()         {}
func (RunNext) todo()           {}
func (AwaitCall) todo()         {}
func (ReconcileMutation) todo() {}

// Next names what the plain handlers owe the world at now, as seen by the named engine. It is total: one answer for
// every state.
func Next(s *projections.State, now eventlog.Instant, engine string) Todo {
	if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunStatusActive {
		return nextOfRun(s, run, engine)
	}
	// Finding out about a mutation goes on whatever else holds the workflow: it sends nothing, or waits for a resume.
	if run := s.RetryRun(); run != nil {
		if m := s.Mutation(run.Mutation); m != nil && m.Status.Unresolved() {
			return nextOfUnresolved(s, m, now, engine)
		}
	}
	if run := s.CurrentRun(); run != nil {
		return Wait{Reason: ReasonApproval, Subject: string(run.Mutation)}
	}
	switch {
	case s.Archived:
		return Wait{Reason: ReasonArchived}
	case s.Pause != nil:
		return Wait{Reason: pauseOf(s)}
	case s.Blocked != nil:
		return Wait{Reason: ReasonBlocked, Subject: string(s.Blocked.Run)}
	case s.Maintenance != nil:
		return Wait{Reason: ReasonMaintenance, Subject: string(s.Maintenance.Run)}
	case s.Backoff != nil && s.Backoff.Until > now:
		return Wait{Reason: ReasonBackoff, Until: s.Backoff.Until}
	}
	if start, ok := due(s, now); ok {
		return start
	}
	return soonest(s, now)
}

// nextOfUnresolved names what is owed for the call of an ended run, while its outcome is not known.
func nextOfUnresolved(s *projections.State, m *projections.Mutation, now eventlog.Instant, engine string) Todo {
	switch {
	case m.Status == eventlog.MutationStatusIndeterminate:
		return Wait{Reason: ReasonIndeterminate, Subject: string(m.ID)}
	case m.Status == eventlog.MutationStatusInFlight && m.Engine == engine:
		return AwaitCall{Mutation: m.ID}
	case m.Resending && m.Engine == engine:
		return AwaitCall{Mutation: m.ID}
	case !reconcileDue(m, now):
		return Wait{Reason: ReasonReconcile, Until: m.ReconcileAt, Subject: string(m.ID)}
	case m.Call.Resends() && s.Pause != nil && !s.Archived: // after an archive no resume comes, and a person decides
		return Wait{Reason: pauseOf(s), Subject: string(m.ID)}
	}
	return ReconcileMutation{Mutation: m.ID}
}

// pauseOf is the reason of a paused workflow's wait.
func pauseOf(s *projections.State) Reason {
	if s.Pause.Restored != nil {
		return ReasonRestored
	}
	return ReasonUserPause
}

func nextOfRun(s *projections.State, run *projections.Run, engine string) Todo {
	if run.Engine != engine {
		return CrashRun{Run: run.ID}
	}
	switch run.Phase {
	case eventlog.PhasePending, eventlog.PhaseExecuting:
		return RunProducer{Run: run.ID}
	case eventlog.PhasePreparing:
		return RunPrepare{Run: run.ID}
	case eventlog.PhasePrepared, eventlog.PhaseMutating:
		// The mutation's state is looked at before the phase: an open call is never made again.
		if m := s.Mutation(run.Mutation); m != nil {
			return AwaitCall{Mutation: m.ID}
		}
		return RunMutate{Run: run.ID}
	default:
		return RunNext{Run: run.ID}
	}
}

// due picks the run to start (S1): a pending retry, then consumers by their oldest pending
// event, then producers. After a session that hit its bound, due producers go first (S7).
func due(s *projections.State, now eventlog.Instant) (StartRun, bool) {
	if run := s.RetryRun(); run != nil {
		return StartRun{Handler: run.Handler, Type: run.Type, RetryOf: run.ID}, true
	}
	def := s.Definition()
	if session := s.OpenSession(); session != nil && session.ProducersFirst {
		if p, ok := dueProducer(s, def, session.StartedAt); ok {
			return p, true
		}
	}
	var best eventlog.Handler
	var oldest projections.Ordinal
	for _, c := range def.Consumers {
		h := s.Handler(c.Name)
		if h == nil || c.Concurrent() || !consumerDue(s, c, h, now) {
			continue
		}
		at, ok := oldestVisible(s, c, now)
		if !ok {
			at = projections.Ordinal{Seq: ^uint64(0)}
		}
		if best == "" || at.Before(oldest) {
			best, oldest = c.Name, at
		}
	}
	if best != "" {
		return StartRun{Handler: best, Type: eventlog.ConsumerHandler}, true
	}
	return dueProducer(s, def, now)
}

// consumerDue is S3 and S4: something new to look at, wakeAt reached, or a job's retry time come.
func consumerDue(s *projections.State, c eventlog.Consumer, h *projections.Handler, now eventlog.Instant) bool {
	return h.DirtyAt > 0 || h.WakeAt != 0 && h.WakeAt <= now || retryDue(s, c, h.LookedAt, now)
}

func retryDue(s *projections.State, c eventlog.Consumer, looked, now eventlog.Instant) bool {
	for e := range s.Scheduled(looked) {
		if e.ScheduledAt > now {
			return false
		}
		if c.Subscribes(e.Topic) {
			return true
		}
	}
	return false
}

// LooksAround reports whether the run can only see that nothing is left (S3): nothing has happened
// since its start, no consumer sees an event, and no consumer's wakeAt or producer's time has come.
// Another consumer may still have its own look to take.
func LooksAround(s *projections.State, run *projections.Run, now eventlog.Instant) bool {
	if run.RetryOf != "" || run.Phase != eventlog.PhasePreparing || run.StartRevision != s.Head.Revision {
		return false
	}
	def := s.Definition()
	for _, c := range def.Consumers {
		if c.Concurrent() {
			continue
		}
		h := s.Handler(c.Name)
		if _, waits := oldestVisible(s, c, now); waits || h != nil && h.WakeAt != 0 && h.WakeAt <= now {
			return false
		}
	}
	_, polls := dueProducer(s, def, now)
	return !polls
}

func dueProducer(s *projections.State, def *eventlog.Definition, now eventlog.Instant) (StartRun, bool) {
	var best *projections.Handler
	for _, p := range def.Producers {
		h := s.Handler(p.Name)
		if h != nil && h.NextRunAt != 0 && h.NextRunAt <= now && (best == nil || h.NextRunAt < best.NextRunAt) {
			best = h
		}
	}
	if best == nil {
		return StartRun{}, false
	}
	return StartRun{Handler: best.Name, Type: eventlog.ProducerHandler}, true
}

// oldestVisible finds the oldest place in the consumer's queues that can be peeked; the event itself may
// be paged out.
func oldestVisible(s *projections.State, c eventlog.Consumer, now eventlog.Instant) (oldest projections.Ordinal,
	found bool) {
	for _, topic := range c.Subscribe {
		for q := range s.Queue(topic) {
			if !q.Visible(now) {
				continue
			}
			if !found || q.Created.Before(oldest) {
				oldest, found = q.Created, true
			}
			break
		}
	}
	return oldest, found
}

// soonest finds what becomes due first by time alone.
func soonest(s *projections.State, now eventlog.Instant) Wait {
	wait := Wait{Reason: ReasonIdle}
	consider := func(at eventlog.Instant, reason Reason, subject string) {
		if at > now && (wait.Until == 0 || at < wait.Until) {
			wait = Wait{Reason: reason, Until: at, Subject: subject}
		}
	}
	def := s.Definition()
	for _, p := range def.Producers {
		if h := s.Handler(p.Name); h != nil {
			consider(h.NextRunAt, ReasonScheduled, string(p.Name))
		}
	}
	for _, c := range def.Consumers {
		if h := s.Handler(c.Name); h != nil && !c.Concurrent() {
			consider(h.WakeAt, ReasonWake, string(c.Name))
		}
	}
	for e := range s.Scheduled(now) {
		if c, ok := def.Subscriber(e.Topic); ok && !c.Concurrent() {
			consider(e.ScheduledAt, ReasonBackoff, string(e.MessageID))
			break
		}
	}
	return wait
}

// Orphans lists reserved events that neither an active run, nor a pending retry, nor a run
// awaiting approval holds. There must be none; they are shown, never repaired silently (Startup).
func Orphans(s *projections.State) []eventlog.EventRef {
	var orphans []eventlog.EventRef
	for _, e := range s.Events() {
		if e.Status == eventlog.EventStatusReserved && (e.ReservedBy == "" || e.ReservedBy != s.Current &&
			e.ReservedBy != s.PendingRetry && !s.Open(e.ReservedBy)) {
			orphans = append(orphans, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
		}
	}
	return orphans
}

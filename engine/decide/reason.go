package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Reason says why a workflow is not moving. The list is closed, and what each means for a person stands here alone;
// ops/explain puts it into words for `pawl why`.
type Reason string

// The reasons for waiting.
const (
	ReasonIdle          Reason = "idle"          // nothing to do until something arrives
	ReasonScheduled     Reason = "scheduled"     // a producer's next time
	ReasonWake          Reason = "wake"          // a consumer's wakeAt
	ReasonBackoff       Reason = "backoff"       // after a transient failure, or a job's own retry time
	ReasonUserPause     Reason = "userPause"     // a person paused it
	ReasonRestored      Reason = "restored"      // the log was restored from a backup, and no person has resumed it yet
	ReasonApproval      Reason = "approval"      // a mutation awaits approval
	ReasonReconcile     Reason = "reconcileDue"  // the next attempt to find out about a mutation
	ReasonIndeterminate Reason = "indeterminate" // only a person can say what became of a mutation
	ReasonMaintenance   Reason = "maintenance"   // the script needs a repair
	ReasonBlocked       Reason = "blocked"       // a system hold, by class or contradiction
	ReasonStorage       Reason = "storage"       // this engine may begin nothing: see EngineStandstill
	ReasonArchived      Reason = "archived"      // stopped for good
	// Why a concurrent consumer begins nothing more although events wait: see ConsumerStatus.
	ReasonPlaces    Reason = "places"    // its places are taken (C1), or its one probe is under way (C7)
	ReasonRate      Reason = "rate"      // its next run begins at its rate (C12)
	ReasonProbing   Reason = "probing"   // its target is to blame, and the next probe has a time (C7)
	ReasonUncertain Reason = "uncertain" // three calls in a row ended without a known outcome (C3)
	ReasonHeldMost  Reason = "heldMost"  // as many of its events are held as may be (C3)
	// ReasonHeld: nothing is left to do but for events that are held for a person or a repair (C5).
	ReasonHeld Reason = "held"
	// ReasonNoWorker is the engine's: the workflow's log cannot be followed, so it has no runner that steps it.
	ReasonNoWorker Reason = "noWorker"
	// ReasonNoOwner is the engine's: in a cluster no engine owns the workflow's partition now.
	ReasonNoOwner Reason = "noOwner"
	// ReasonCall is the engine's: a call of its own is open. The workflow is moving then, and interfaces say so.
	ReasonCall Reason = "call"
)

// Meaning is what a wait means for a person.
type Meaning int

// The meanings of waits.
const (
	// Rests: no work is left. What arrives, or a time that the workflow has set itself, brings some.
	Rests Meaning = iota + 1
	// GoesOn: work is left, and the wait ends by itself.
	GoesOn
	// StoppedByPerson: a person has stopped it, and knows of it.
	StoppedByPerson
	// NeedsPerson: work is left that only a person can let go on.
	NeedsPerson
)

// waits lists the reasons with their meanings, in the order in which interfaces list them.
var waits = []struct {
	reason  Reason
	meaning Meaning
}{
	{ReasonIdle, Rests},
	{ReasonScheduled, Rests},
	{ReasonWake, Rests},
	{ReasonBackoff, GoesOn},
	{ReasonUserPause, StoppedByPerson},
	{ReasonRestored, NeedsPerson},
	{ReasonApproval, NeedsPerson},
	{ReasonReconcile, GoesOn},
	{ReasonIndeterminate, NeedsPerson},
	{ReasonMaintenance, NeedsPerson},
	{ReasonBlocked, NeedsPerson},
	{ReasonStorage, GoesOn},
	{ReasonArchived, StoppedByPerson},
	{ReasonPlaces, GoesOn},
	{ReasonRate, GoesOn},
	{ReasonProbing, GoesOn},
	{ReasonUncertain, NeedsPerson},
	{ReasonHeldMost, NeedsPerson},
	{ReasonHeld, NeedsPerson},
	{ReasonNoWorker, NeedsPerson},
	{ReasonNoOwner, GoesOn},
	{ReasonCall, GoesOn},
}

// Reasons lists those with which a workflow is shown as not moving: all but ReasonCall.
func Reasons() []Reason {
	var shown []Reason
	for _, w := range waits {
		if w.reason != ReasonCall {
			shown = append(shown, w.reason)
		}
	}
	return shown
}

// Meaning is what the wait means for a person; 0 for a reason that is not in the list.
func (r Reason) Meaning() Meaning {
	for _, w := range waits {
		if w.reason == r {
			return w.meaning
		}
	}
	return 0
}

// Standstill is why nothing of a workflow may begin, although its state allows it.
type Standstill int

// The standstills, the one that lasts longest last.
const (
	NoStandstill Standstill = iota
	// EngineStandstill ends by itself: the engine is draining or does not own the workflow, or its storage is short of
	// disk space or does not answer.
	EngineStandstill
	// DamageStandstill ends with an accepted loss, or once the engine starts on an undamaged log: a part of the
	// workflow's past cannot be read or followed.
	DamageStandstill
)

// Wait is what a workflow that owes the start of a run waits for meanwhile.
func (s Standstill) Wait() Wait {
	if s == DamageStandstill {
		return Wait{Reason: ReasonBlocked}
	}
	return Wait{Reason: ReasonStorage}
}

// Wait: nothing is owed until Until (zero: until something happens).
type Wait struct {
	Reason Reason
	Until  eventlog.Instant
	// Subject names what is waited for: a run, a mutation, a handler or, for ReasonBackoff of a plain handler, an event's
	// message id.
	Subject string
}

func (Wait) todo() {}

// Present is what Owed may know besides the state.
type Present struct {
	Now    eventlog.Instant
	Engine string
	// MaxHeld is that of Env.
	MaxHeld int
}

// NeedsAttention reports whether a person should look although the wait ends by itself (F8): the workflow or a probed
// target has failed too often, or all that a concurrent consumer tries again has. Retries that count against a job end
// by themselves (J2), so they never need attention.
func NeedsAttention(s *projections.State, wait Wait) bool {
	c, ok := s.Definition().Consumer(eventlog.Handler(wait.Subject))
	h := s.Handler(c.Name)
	switch {
	case h != nil && h.Probing != nil && (wait.Reason == ReasonProbing || wait.Reason == ReasonRate):
		return h.Probing.Attention != 0
	case wait.Reason != ReasonBackoff:
		return false
	case s.Backoff != nil && s.Backoff.Attention != 0:
		return true
	case h == nil || !ok || !c.Concurrent():
		return false
	}
	for _, ref := range s.ScheduledFor(c.Name) {
		if e := s.Event(ref.Topic, ref.MessageID); e == nil || !e.Deferred && e.Attention == 0 {
			return false
		}
	}
	for run := range s.Returning(c.Name) {
		if run.Attention == 0 {
			return false
		}
	}
	return true
}

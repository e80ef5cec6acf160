package decide

// HoldReason is why nothing of a workflow may begin, although its state allows it.
type HoldReason int

// The reasons of a hold, the one that lasts longest last.
const (
	NotHeld HoldReason = iota
	// HeldByEngine ends by itself: the engine is draining, or its storage is short of disk space or does not answer.
	HeldByEngine
	// HeldByDamage ends with an accepted loss, or once the engine starts on an undamaged log: a part of the
	// workflow's past cannot be read or followed.
	HeldByDamage
)

// Wait is what a workflow that owes the start of a run waits for under the hold.
func (h HoldReason) Wait() Wait {
	if h == HeldByDamage {
		return Wait{Reason: ReasonBlocked}
	}
	return Wait{Reason: ReasonStorage}
}

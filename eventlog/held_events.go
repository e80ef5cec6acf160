package eventlog

// HeldReason says what an event of a concurrent consumer is held for (C5).
type HeldReason string

// The reasons for holding an event, a closed list.
const (
	HeldRepair        HeldReason = "repair"        // the script fails on it; any new version frees it
	HeldPerson        HeldReason = "person"        // a person has to do something, and then resumes the workflow
	HeldReconcile     HeldReason = "reconcile"     // the outcome of its call is being asked for
	HeldIndeterminate HeldReason = "indeterminate" // only a person can say what became of its call
	HeldApproval      HeldReason = "approval"      // its call awaits a person's approval
)

// HeldReasons lists them in the order in which interfaces show them.
func HeldReasons() []HeldReason {
	return []HeldReason{HeldApproval, HeldIndeterminate, HeldReconcile, HeldPerson, HeldRepair}
}

type (
	// EventHeld: no run gets the event, and a run that has it stands still, until the event is freed or ended.
	EventHeld struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		// Run is the one after which it is held.
		Run    RunID      `msgpack:"run" json:"run"`
		Reason HeldReason `msgpack:"reason" json:"reason"`
	}
	// EventFreed: nothing holds it any more. A pending event is due at once.
	EventFreed struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		// Uncounted is set when its last failure counts no attempt after all: the target was to blame (C7).
		Uncounted bool `msgpack:"uncounted,omitempty" json:"uncounted,omitempty"`
	}
	// EventDeferred: prepare chose nothing, or a fault of Pawl's own storage ended the run (F11). The event is pending
	// again and invisible until Until or a deploy, and that was no execution of its job (C6, C8).
	EventDeferred struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
		Until     Instant   `msgpack:"until" json:"until"`
	}
	// HandlerStreakCounted: these events of a concurrent consumer failed for the first time, one after the other and with
	// the same class; none of them: the streak is over (C7).
	HandlerStreakCounted struct {
		Handler Handler    `msgpack:"handler" json:"handler"`
		Class   Class      `msgpack:"class,omitempty" json:"class,omitempty"`
		Events  []EventRef `msgpack:"events,omitempty" json:"events,omitempty"`
		// Began is the revision at which the run of the first of them began: the commit of a run that began after it ends the
		// streak.
		Began uint64 `msgpack:"began,omitempty" json:"began,omitempty"`
	}
	// HandlerProbeScheduled: the consumer's target is to blame. One run at a time tries it; the next try is at At. Attempt
	// counts the failed tries so far. The failures that led here count as one (C7).
	HandlerProbeScheduled struct {
		Handler   Handler `msgpack:"handler" json:"handler"`
		Class     Class   `msgpack:"class" json:"class"`
		Message   string  `msgpack:"message" json:"message"`
		Attempt   int     `msgpack:"attempt" json:"attempt"`
		At        Instant `msgpack:"at" json:"at"`
		Attention bool    `msgpack:"attention,omitempty" json:"attention,omitempty"`
	}
	// HandlerProbingEnded: the target works again, or a person says so. All transient back-offs of the consumer's
	// events are due (C7).
	HandlerProbingEnded struct {
		Handler Handler `msgpack:"handler" json:"handler"`
	}
	// HandlerUncertainCounted: the calls of the consumer whose outcome was not known, one after the other, the latest
	// last; none of them: the streak is over (C3).
	HandlerUncertainCounted struct {
		Handler   Handler      `msgpack:"handler" json:"handler"`
		Mutations []MutationID `msgpack:"mutations,omitempty" json:"mutations,omitempty"`
	}
	// HandlerRepairCounted: so many repairs for the concurrent consumer's events have not helped, one after the other;
	// zero after one that has (C5). Of any other handler, 1 says that it has failed, and another one after it; zero
	// that it works again (F9).
	HandlerRepairCounted struct {
		Handler  Handler `msgpack:"handler" json:"handler"`
		Failures int     `msgpack:"failures,omitempty" json:"failures"`
	}
)

func (*EventHeld) FactType() FactType               { return "event.held" }
func (*EventFreed) FactType() FactType              { return "event.freed" }
func (*EventDeferred) FactType() FactType           { return "event.deferred" }
func (*HandlerStreakCounted) FactType() FactType    { return "handler.row_counted" }
func (*HandlerProbeScheduled) FactType() FactType   { return "handler.probe_scheduled" }
func (*HandlerProbingEnded) FactType() FactType     { return "handler.probing_ended" }
func (*HandlerUncertainCounted) FactType() FactType { return "handler.uncertain_counted" }
func (*HandlerRepairCounted) FactType() FactType    { return "handler.repair_counted" }

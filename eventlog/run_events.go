package eventlog

import "encoding/json"

// Phase is how far a run has come. It only moves forward (R1).
type Phase string

// The phases. A consumer goes preparing → prepared → mutating → mutated → emitting → committed,
// a producer pending → executing → committed.
const (
	PhasePending   Phase = "pending"
	PhaseExecuting Phase = "executing" // the producer polls: reads only
	PhasePreparing Phase = "preparing" // prepare chooses inputs: reads only, may be run again
	PhasePrepared  Phase = "prepared"  // inputs are reserved and data pinned
	PhaseMutating  Phase = "mutating"  // at most one call may leave, once its start is in the log
	PhaseMutated   Phase = "mutated"   // the call was applied or skipped, or there was none (R17)
	PhaseEmitting  Phase = "emitting"  // next publishes; may be run again
	PhaseCommitted Phase = "committed"
)

var phaseOrder = map[Phase]int{
	PhasePending: 1, PhaseExecuting: 2,
	PhasePreparing: 1, PhasePrepared: 2, PhaseMutating: 3, PhaseMutated: 4, PhaseEmitting: 5,
	PhaseCommitted: 9,
}

// After reports whether the phase lies strictly after q in its handler's order.
func (p Phase) After(q Phase) bool { return phaseOrder[p] > phaseOrder[q] }

// PastMutation reports whether the mutation of the run is settled as applied, skipped or none (R17).
func (p Phase) PastMutation() bool {
	return p == PhaseMutated || p == PhaseEmitting || p == PhaseCommitted
}

// RunStatus says whether a run is going on, and why not. It is independent of the phase (R2).
type RunStatus string

// The statuses of a run.
const (
	RunStatusActive          RunStatus = "active"
	RunStatusPausedTransient RunStatus = "paused:transient"
	RunStatusPausedApproval  RunStatus = "paused:approval"
	RunStatusPausedReconcile RunStatus = "paused:reconciliation"
	RunStatusFailedLogic     RunStatus = "failed:logic"
	RunStatusFailedInternal  RunStatus = "failed:internal"
	RunStatusCommitted       RunStatus = "committed"
	RunStatusCrashed         RunStatus = "crashed"
)

// HandlerType is "producer" or "consumer".
type HandlerType string

// The handler types.
const (
	ProducerHandler HandlerType = "producer"
	ConsumerHandler HandlerType = "consumer"
)

// EventRef names one topic event.
type EventRef struct {
	Topic     Topic     `msgpack:"topic" json:"topic"`
	MessageID MessageID `msgpack:"messageId" json:"messageId"`
}

// Cancellation is an event that prepare wants skipped with the commit of its run (J5).
type Cancellation struct {
	Topic     Topic     `msgpack:"topic" json:"topic"`
	MessageID MessageID `msgpack:"messageId" json:"messageId"`
	Reason    string    `msgpack:"reason,omitempty" json:"reason,omitempty"`
}

type (
	// RunStarted: one attempt of a handler begins. Engine names the process incarnation that
	// runs it: another one that finds it active knows its worker is gone (R14).
	RunStarted struct {
		Run         RunID       `msgpack:"run" json:"run"`
		Handler     Handler     `msgpack:"handler" json:"handler"`
		HandlerType HandlerType `msgpack:"handlerType" json:"handlerType"`
		Version     Version     `msgpack:"version" json:"version"`
		Session     SessionID   `msgpack:"session" json:"session"`
		Phase       Phase       `msgpack:"phase" json:"phase"`
		// RetryOf is set for post-mutation retries only; prepare and mutation results are
		// those of that run (R15).
		RetryOf RunID  `msgpack:"retryOf,omitempty" json:"retryOf,omitempty"`
		Engine  string `msgpack:"engine" json:"engine"`
		// Event is the one event of a concurrent consumer's run, which belongs to no session; nil for a plain
		// run. Its reservation stands in the same transition (C1).
		Event *EventRef `msgpack:"event,omitempty" json:"event,omitempty"`
		// Key is the canonical JSON of that event's key, empty where it has none (C2).
		Key string `msgpack:"key,omitempty" json:"key,omitempty"`
	}
	// RunPrepared: prepare's result is pinned. Reservations follow as event.reserved.
	RunPrepared struct {
		Run     RunID           `msgpack:"run" json:"run"`
		Result  json.RawMessage `msgpack:"result" json:"result"`
		UITitle string          `msgpack:"uiTitle,omitempty" json:"uiTitle,omitempty"`
		WakeAt  Instant         `msgpack:"wakeAt,omitempty" json:"wakeAt,omitempty"`
		Cancel  []Cancellation  `msgpack:"cancel,omitempty" json:"cancel,omitempty"`
		// Empty is set when prepare of a concurrent consumer chose nothing: the event that its run holds is put off
		// with the commit (C6).
		Empty bool `msgpack:"empty,omitempty" json:"empty,omitempty"`
	}
	// RunAdvanced: the run has reached Phase.
	RunAdvanced struct {
		Run   RunID `msgpack:"run" json:"run"`
		Phase Phase `msgpack:"phase" json:"phase"`
	}
	// RunCommitted: everything the run buffered is visible; phase and status are committed (R2).
	RunCommitted struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// RunFailed: the run has ended with Status; its phase stays (R1).
	RunFailed struct {
		Run     RunID     `msgpack:"run" json:"run"`
		Status  RunStatus `msgpack:"status" json:"status"`
		Failure Failure   `msgpack:"failure" json:"failure"`
	}
	// RunCrashed: the run's worker is gone (R14).
	RunCrashed struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// RunSuspended: the run awaits an approval; it has not ended (O5).
	RunSuspended struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// RunReactivated: the approval was given or refused; the same run goes on (O5).
	RunReactivated struct {
		Run    RunID  `msgpack:"run" json:"run"`
		Engine string `msgpack:"engine" json:"engine"`
	}
	// RunRetryOwed: this ended run of a concurrent consumer owes a retry or a settlement; its event stays
	// reserved (R16, C5).
	RunRetryOwed struct {
		Run RunID `msgpack:"run" json:"run"`
		// At is when the retry is due, zero for at once; Attempt is how many tries of its chain have failed, and
		// with Attention those are so many that a person should look (F8).
		At        Instant `msgpack:"at,omitempty" json:"at,omitempty"`
		Attempt   int     `msgpack:"attempt,omitempty" json:"attempt,omitempty"`
		Attention bool    `msgpack:"attention,omitempty" json:"attention,omitempty"`
	}
	// RunRetryCleared: the owed retry has started or is no longer owed.
	RunRetryCleared struct {
		Run RunID `msgpack:"run" json:"run"`
	}
)

// needs: version 2 added Event and Key.
func (f *RunStarted) needs() int {
	if f.Event != nil || f.Key != "" {
		return 2
	}
	return 1
}

// needs: version 2 added Empty.
func (f *RunPrepared) needs() int {
	if f.Empty {
		return 2
	}
	return 1
}

func (*RunStarted) FactType() FactType      { return "run.started" }
func (*RunPrepared) FactType() FactType     { return "run.prepared" }
func (*RunAdvanced) FactType() FactType     { return "run.advanced" }
func (*RunCommitted) FactType() FactType    { return "run.committed" }
func (*RunFailed) FactType() FactType       { return "run.failed" }
func (*RunCrashed) FactType() FactType      { return "run.crashed" }
func (*RunSuspended) FactType() FactType    { return "run.suspended" }
func (*RunReactivated) FactType() FactType  { return "run.reactivated" }
func (*RunRetryOwed) FactType() FactType    { return "run.retry_owed" }
func (*RunRetryCleared) FactType() FactType { return "run.retry_cleared" }

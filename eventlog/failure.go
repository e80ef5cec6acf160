package eventlog

import (
	"slices"
	"time"
)

// Class says what kind of failure happened (F1). The host decides it from typed errors, never
// from a message's text and never on the script's word.
type Class string

// The failure classes of F1. What each does to the run and its workflow: F2, F7.
const (
	// Transient: it may work later; the run backs off and is tried again.
	Transient Class = "transient"
	// Logic: the script is wrong; it needs a repair.
	Logic Class = "logic"
	// Permission: the workflow lacks a grant, or the outside refuses the account.
	Permission Class = "permission"
	// Auth: the connector's credentials are missing, wrong or expired.
	Auth Class = "auth"
	// Precondition: the outside is not in the state the call needs.
	Precondition Class = "precondition"
	// Internal: a fault of Pawl or of a connector.
	Internal Class = "internal"
)

// Codes of failures of which neither the script nor the target is the cause, but this engine or the machine it runs on:
// see Failure.OwnFault.
const (
	// CodeHeldBack: a call was not sent within its time because of a bound in this engine's own configuration, such as
	// the rate of a host.
	CodeHeldBack = "call.heldBack"
	// CodeDeadline: the deadline of a call had passed before anything of it was sent, since the engine stood still.
	CodeDeadline = "call.deadline"
	// CodeCancelled: the engine gave a call up, since it was ending.
	CodeCancelled = "call.cancelled"
	// CodeNeverSent: the right to send a call had passed before it left.
	CodeNeverSent = "mutation.neverSent"
	// CodeProcessStopped: the process ended while a call was in flight. Its outcome was not known then.
	CodeProcessStopped = "mutation.uncertain"
	// CodeScriptCancelled: the engine stopped a handler before it ended.
	CodeScriptCancelled = "script.cancelled"
	// CodeWorkerLost: the process in which a handler ran was ended from outside, or none could be started.
	CodeWorkerLost = "worker.lost"
	// CodeDisconnected: there is no connection to NATS, the engine's own broker, so that a call of a service cannot leave.
	CodeDisconnected = "service.disconnected"
	// CodeStorageRead: the local store could not be read.
	CodeStorageRead = "storage.read"
	// CodeStorageReserve: too little disk space was free for a call to begin.
	CodeStorageReserve = "storage.reserve"
	// CodeStorageSlow: the log took too long to confirm a write.
	CodeStorageSlow = "storage.slow"
)

var ownFaults = []string{CodeHeldBack, CodeDeadline, CodeCancelled, CodeNeverSent, CodeProcessStopped,
	CodeScriptCancelled, CodeWorkerLost, CodeDisconnected, CodeStorageRead, CodeStorageReserve, CodeStorageSlow}

// MaxMessage bounds a failure's message in bytes: it becomes part of the log.
const MaxMessage = 4 << 10

// MaxRetryAfter bounds how long the outside may ask to be left alone (F13).
const MaxRetryAfter = time.Hour

// Failure describes an error as a fact: stored in the log, shown to operators and repairers.
type Failure struct {
	Class Class `msgpack:"class" json:"class"`
	// Code names the limit or rule, e.g. `limit.wall`, `phase.forbidden`, `reservation.unknown`.
	Code string `msgpack:"code" json:"code"`
	// Message says what happened and what to do, in at most MaxMessage bytes.
	Message string `msgpack:"message" json:"message"`
	// Line is the line in the author's source, 0 where unknown.
	Line int `msgpack:"line,omitempty" json:"line,omitempty"`
	// RetryAfter is how long the outside asked to be left alone when it refused the call, at most
	// MaxRetryAfter; 0 where it did not ask (F13). It is an argument of a decision and never stored:
	// the facts of that decision say when the next try is due.
	RetryAfter time.Duration `msgpack:"-" json:"-"`
}

// OwnFault reports whether Pawl itself or its machine is the cause, or a bound that its operator has set. Such a
// failure says nothing of the event and nothing of the target: it counts no attempt of a job, and it is no part of a
// row (J6, F11, C7).
func (f *Failure) OwnFault() bool { return slices.Contains(ownFaults, f.Code) }

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

package eventlog

import (
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

// CodeHeldBack is the code of a call that was not sent within its time because of a bound in this engine's own
// configuration, such as the rate of a host. It says nothing of the target (C7).
const CodeHeldBack = "call.heldBack"

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

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

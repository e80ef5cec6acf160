package decide

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// ErrStale says that the command reports on a run that is no longer active: drop it.
var ErrStale = errors.New("the run is no longer active")

// ErrPrepareAgain says that an event which prepare chose was skipped or cancelled while it ran.
// That is not the author's fault: run prepare again, nothing is recorded (R9).
var ErrPrepareAgain = errors.New("a chosen event is gone, prepare runs again")

// Decision is what a command came to.
type Decision struct {
	Kind  eventlog.FactType
	Facts []eventlog.Fact
	// Warnings are for the run's log, not for the record.
	Warnings []string
	// Pushed answers a Push, one per item.
	Pushed []PushResult
	// Bulk answers a ChangeEvents; nil otherwise.
	Bulk *BulkResult
	// Queued answers a RunNow; nil otherwise.
	Queued *Queued
}

// Empty reports whether there is nothing to append.
func (d Decision) Empty() bool { return len(d.Facts) == 0 }

// PushResult answers one item.
type PushResult struct {
	MessageID eventlog.MessageID   `json:"messageId"`
	Result    string               `json:"result"` // PushCreated or PushUpdated
	Status    eventlog.EventStatus `json:"status"`
}

// The results of a push, for each item.
const (
	PushCreated = "created" // the event is new
	PushUpdated = "updated" // it is there already, and what it says may be new
)

// BulkResult answers a bulk command.
type BulkResult struct {
	// Unknown is how many of the events may have had an effect that a redrive would repeat (O11).
	Unknown int    `json:"-"`
	Updated int    `json:"updated"`
	Noop    []Noop `json:"noop"`
}

// Noop is an event that a bulk command left as it was.
type Noop struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
	Reason    string             `json:"reason"`
}

// RefusalKind says how an operation was refused.
type RefusalKind int

// The kinds of refusals, as an interface maps them.
const (
	Invalid  RefusalKind = iota // the request makes no sense (422)
	NotFound                    // what it names does not exist (404)
	Conflict                    // not in this state (409)
	TooMany                     // too much waits already (429)
)

// Refusal is an operation that changes nothing, with the reason that its caller is told.
type Refusal struct {
	Kind    RefusalKind
	Code    string
	Message string
	// Hint is what its caller can do; every refusal has one.
	Hint hint.Hint
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind RefusalKind, code, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (r *Refusal) hint(code hint.Code, values ...any) *Refusal {
	r.Hint = hint.Of(code, values...)
	return r
}

// Queued answers a RunNow: its producers are queued, and at most one of them runs by now.
type Queued struct {
	// Producers are those of the current version, in its order.
	Producers []eventlog.Handler
	// Running is the producer that runs now, empty when none does.
	Running eventlog.Handler
	// First is what the workflow owes or waits for before any other of them runs.
	First Todo
	// State is the workflow as the command has left it: First is explained by it.
	State projections.State
}

package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Source is one workflow script as its author wrote it.
type Source struct {
	// Filename is used in messages; a `.ts` or `.js` name.
	Filename string
	Code     string
	// Counted asks for Result.Counts: how often each statement of the functions has run. It makes the script slower.
	Counted bool
}

// Operation binds ctx.<Connector>.<Operation> for one invocation.
type Operation struct {
	Connector string
	Operation string
	Kind      OperationKind
}

// Event is a topic event as a script sees it; `id` is an alias of messageId (R12).
type Event struct {
	MessageID string          `json:"messageId"`
	Topic     string          `json:"topic"`
	Title     string          `json:"title"`
	Payload   json.RawMessage `json:"payload"`
	// Status and ScheduledAt are those of an event that getByIds returns: pending, reserved, consumed, skipped or
	// discarded; of a pending one that waits for its retry also the time of it, as ISO 8601 text (R19).
	Status      string `json:"status,omitempty"`
	ScheduledAt string `json:"scheduledAt,omitempty"`
	// Attempt is which try of the event this is, or would be, from 1 (J1); 0 means 1. LastError is what its last
	// failed try has ended with, nil for none.
	Attempt   int         `json:"attempt,omitempty"`
	LastError *EventError `json:"lastError,omitempty"`
}

// EventError is the failure of an earlier try of an event, as a script sees it.
type EventError struct {
	Class   string `json:"class"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Size is the event's share of what a handler is given, in bytes.
func (e *Event) Size() int {
	size := len(e.MessageID) + len(e.Title) + len(e.Payload)
	if e.LastError != nil {
		size += len(e.LastError.Code) + len(e.LastError.Message)
	}
	return size
}

// Invocation is one handler call, complete: the executor looks nothing up.
type Invocation struct {
	// Workflow names the workflow in messages; calls that name none share the executor by script.
	Workflow string
	Source   Source
	Phase    Phase
	Handler  string
	// State goes to producers and prepare; nil is undefined (R13).
	State json.RawMessage
	// Prepared is the prepare result, for mutate and next.
	Prepared json.RawMessage
	// MutationResult is next's third argument.
	MutationResult json.RawMessage
	// Pending holds the pending events of the subscribed topics, oldest first (prepare only).
	Pending map[string][]Event
	// More names those of the topics of which Pending holds only the beginning. A script that peeks
	// at what lies behind it ends with CodeMore, and is to be called again with more.
	More []string
	// Topics are those a publish may name: the declared topics, narrowed to `publishes` if declared.
	Topics     []string
	Operations []Operation
	// Vars are what ctx.vars holds.
	Vars Vars
	// MutateReadsByID allows get operations in mutate (R6).
	MutateReadsByID bool
	// ThenMutate, in a call of prepare, asks for mutate right after it if prepare reserves events: see Result.Mutate.
	// That saves an exchange with the executor. It is for a mutate that may not read (MutateReadsByID).
	ThenMutate bool
	// Now is where ctx.now() and Date start; they advance from it with real time. Zero is the
	// real time.
	Now time.Time
	// ScheduledAt is the time that the schedule of a producer asked for; zero stands for Now.
	ScheduledAt time.Time
	// Still has the script's time stand at Now: what it makes of the time is the same in each call.
	Still bool
	// Seed seeds Math.random.
	Seed   uint64
	Limits Limits
}

// CodeMore is the code of the error with which a call ends that needs more of a topic's pending
// events than it was given.
const CodeMore = "peek.more"

// Mutate is the call of mutate that follows this call of prepare, without Prepared.
func (c *Invocation) Mutate() Invocation {
	then := *c
	then.ThenMutate, then.Phase = false, Mutate
	then.State, then.Pending, then.More = nil, nil, nil
	return then
}

// Key names the handler that is called.
func (c *Invocation) Key() HandlerKey { return HandlerKey{c.Phase, c.Handler} }

// Title names the handler in messages.
func (c *Invocation) Title() string {
	if c.Phase == Producer {
		return fmt.Sprintf("producer %q", c.Handler)
	}
	return fmt.Sprintf("%s of consumer %q", c.Phase, c.Handler)
}

// Where adds to a passed limit whose it is: its message is written far from the call.
func (c *Invocation) Where(e *Error) *Error {
	if !strings.HasPrefix(e.Code, "limit.") {
		return e
	}
	e.Message += "; in " + c.Title()
	if c.Workflow != "" {
		e.Message += " of workflow " + c.Workflow
	}
	return e
}

// SourceTooLarge is the fault of a script with more than limit bytes, nil for any other.
func SourceTooLarge(source Source, limit int) *Error {
	if len(source.Code) <= limit {
		return nil
	}
	return LimitFault("limit.source", "the script has %d bytes; the limit is %d", len(source.Code), limit)
}

// TooLarge is the fault of a call whose arguments exceed the limit.
func (c *Invocation) TooLarge(limits Limits) *Error {
	size := len(c.State) + len(c.Prepared) + len(c.MutationResult)
	for _, events := range c.Pending {
		for i := range events {
			size += events[i].Size()
		}
	}
	if size <= limits.Argument {
		return nil
	}
	return c.Where(LimitFault("limit.argument", "what the handler is given has %d bytes; the limit is %d", size,
		limits.Argument))
}

// HandlerKey names one handler of a script.
type HandlerKey struct {
	Phase Phase
	Name  string
}

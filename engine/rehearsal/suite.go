package rehearsal

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Suite is what a test file declares.
type Suite struct {
	Cases []Case `json:"cases"`
	// Tools are operations of connectors that no program knows while no engine runs, with their kinds, by
	// `connector.operation`.
	Tools map[string]sandbox.OperationKind `json:"tools,omitempty"`
	// Vars are settings that the script reads as ctx.vars, besides those of Config.
	Vars sandbox.Vars `json:"vars,omitempty"`
}

// Case is one test: what is given, and what is done and expected, in order.
type Case struct {
	Name string `json:"name"`
	// Clock is where its time begins; zero is Start.
	Clock time.Time `json:"clock,omitzero"`
	// State is what handlers have returned last.
	State map[eventlog.Handler]json.RawMessage `json:"state,omitempty"`
	// Grants are granted besides all that the script uses.
	Grants map[string]eventlog.Grant `json:"grants,omitempty"`
	Steps  []Step                    `json:"steps"`
}

// Start is the time at which a case begins that names none.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Step is one step of a case. Do says which of the other members it has.
type Step struct {
	Do   Do  `json:"do"`
	Line int `json:"line"` // of the test file
	// FromRecording says that it stands in a recorded case.
	FromRecording bool `json:"-"`

	Topic  eventlog.Topic       `json:"topic,omitempty"`  // push, skip, redrive, expectEvents
	Events []json.RawMessage    `json:"events,omitempty"` // push, expectEvents
	IDs    []eventlog.MessageID `json:"ids,omitempty"`    // skip, redrive

	Operation string `json:"operation,omitempty"` // answer, expectCall: `connector.operation`
	Answer

	Hook    eventlog.HookName `json:"hook,omitempty"`    // hook
	Request Webhook           `json:"request,omitzero"`  // hook
	Refused string            `json:"refused,omitempty"` // hook: the code with which it is to be refused
	Answers string            `json:"answers,omitempty"` // hook: what is to be answered to a challenge

	By         string            `json:"by,omitempty"`         // advance
	Fact       eventlog.FactType `json:"fact,omitempty"`       // crash
	Resolution string            `json:"resolution,omitempty"` // resolve, with the result of Answer

	Params  json.RawMessage  `json:"params,omitempty"`  // expectCall; any where they are left out
	Handler eventlog.Handler `json:"handler,omitempty"` // run, expectState
	State   json.RawMessage  `json:"state,omitempty"`   // expectState; nil for none
	Reason  string           `json:"reason,omitempty"`
	Code    string           `json:"code,omitempty"`
	Message string           `json:"message,omitempty"`
	Part    string           `json:"part,omitempty"` // expectLog
	File    string           `json:"file,omitempty"` // recorded
	Case    string           `json:"case,omitempty"` // recorded; the only one of the file where it is left out
	// At is the line of the script that expectWaiting names, 0 for any.
	At int `json:"at,omitempty"`
}

// Do is what a step does.
type Do string

// What steps do.
const (
	// DoAnswer says what an operation answers from here on.
	DoAnswer Do = "answer"
	// DoRecorded stands for what is given and done in a recorded case.
	DoRecorded Do = "recorded"
	// DoPush pushes events; they wait until a step lets the workflow run.
	DoPush Do = "push"
	// DoHook sends a request to a hook; its event waits as one that is pushed.
	DoHook Do = "hook"
	// DoPoll has all producers run.
	DoPoll Do = "poll"
	// DoRun lets the workflow run until it is idle, with the pauses before further tries; with a handler, until the next
	// run of that has ended.
	DoRun Do = "run"
	// DoAdvance moves the clock.
	DoAdvance Do = "advance"
	// DoCrash ends the engine when the next transition with the fact is on the disk; another one goes on.
	DoCrash Do = "crash"
	// DoApprove, DoReject, DoResolve, DoResume, DoSkip and DoRedrive are what a person does.
	DoApprove Do = "approve"
	DoReject  Do = "reject"
	DoResolve Do = "resolve"
	DoResume  Do = "resume"
	DoSkip    Do = "skip"
	DoRedrive Do = "redrive"

	// DoExpectCall takes the first change that no step has expected yet.
	DoExpectCall Do = "expectCall"
	// DoExpectNoCalls says that there is no such change.
	DoExpectNoCalls Do = "expectNoCalls"
	// DoExpectEvents lists all events of a topic, with what is to be true of each.
	DoExpectEvents Do = "expectEvents"
	// DoExpectState says what a handler remembers.
	DoExpectState Do = "expectState"
	// DoExpectWaiting says what the workflow waits for.
	DoExpectWaiting Do = "expectWaiting"
	// DoExpectLog says that a handler has logged a text.
	DoExpectLog Do = "expectLog"
)

// Answer is what an operation answers: a result, a failure, or a change whose answer is lost.
type Answer struct {
	// With are parameters that a call has to have for this answer, others may be there too; nil takes every call.
	With   json.RawMessage `json:"with,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Fails  *Refusal        `json:"fails,omitempty"`
	Lost   Lost            `json:"lost,omitempty"`
	// Times is how often it is given; 0 is always.
	Times int `json:"times,omitempty"`
}

// Refusal is a definite failure of a call.
type Refusal struct {
	Class   eventlog.Class `json:"class"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
}

// Lost is what the other side knows of a change whose answer was lost.
type Lost string

// What it may know.
const (
	LostHappened     Lost = "happened"
	LostDidNotHappen Lost = "did-not-happen"
	LostUnknown      Lost = "unknown" // it cannot be asked: a person has to say
)

// ReadError says that a test file declares no tests.
type ReadError struct {
	Line    int
	Message string
}

func (e *ReadError) Error() string { return e.Message }

// Webhook is a request that another system sends to a hook.
type Webhook struct {
	Method      string            `json:"method,omitempty"` // POST if empty
	Query       map[string]string `json:"query,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	ContentType string            `json:"contentType,omitempty"`
	Body        string            `json:"body,omitempty"`
	// Unsigned leaves out what verifies it.
	Unsigned bool `json:"unsigned,omitempty"`
}

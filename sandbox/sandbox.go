package sandbox

import (
	"context"
	"encoding/json"
	"time"
)

// Phase is the part of a workflow script that one invocation runs.
type Phase string

// The phases of R8's table.
const (
	Producer Phase = "producer"
	Prepare  Phase = "prepare"
	Mutate   Phase = "mutate"
	Next     Phase = "next"
)

// Source is one workflow script as its author wrote it.
type Source struct {
	// Filename is used in messages; a `.ts` or `.js` name.
	Filename string
	Code     string
}

// Definition is what a script declares in `export default Keep.workflow({...})`. It is plain
// data: schedules and names are checked by engine/deploy, not here.
type Definition struct {
	Name      string               `json:"name"`
	Topics    []string             `json:"topics"`
	Producers []ProducerDefinition `json:"producers"`
	Consumers []ConsumerDefinition `json:"consumers"`
	// Uses are the connector operations that the text of the script names, found without running
	// it, in the order of the text. An operation reached only by a computed name is not in it.
	Uses []OperationUse `json:"uses,omitempty"`
	// Calls are the calls of connector operations whose text shows something of their parameters.
	Calls []WrittenCall `json:"calls,omitempty"`
	// MutateCalls are the calls of connector operations in mutate phases; see MutateProblems.
	MutateCalls []MutateCall `json:"mutateCalls,omitempty"`
	// Places are where the members are written, as far as the text shows it; see Place.
	Places map[string]Place `json:"places,omitempty"`
	// Incomplete tells that something could not be read and is missing: an error says what.
	Incomplete bool `json:"incomplete,omitempty"`
	// Unread are the paths of what is missing from an incomplete definition, as keys of Places; see
	// Lacks. Without any, nothing of the script could be read.
	Unread []string `json:"unread,omitempty"`
}

// OperationUse is one place in a script that names ctx.<Connector>.<Operation>.
type OperationUse struct {
	Connector string `json:"connector"`
	Operation string `json:"operation"`
	// Handler and Phase say which handler reaches the place, directly or through functions that it
	// passes its ctx to; both are empty where that could not be found out.
	Handler string `json:"handler,omitempty"`
	Phase   Phase  `json:"phase,omitempty"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

// ProducerDefinition is one entry of `producers`: a bare function, or
// `{interval|cron, timezone, runOnDeploy, publishes, handler|run|poll}`.
type ProducerDefinition struct {
	Name     string `json:"name"`
	Bare     bool   `json:"bare"` // no schedule of its own: on deploy, on run-now and every 5 minutes (S2)
	Interval string `json:"interval,omitempty"`
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// RunOnDeploy makes it run at each deploy of a changed script too (S2).
	RunOnDeploy bool `json:"runOnDeploy,omitempty"`
	// Publishes is nil when undeclared; when declared it is enforced (S8).
	Publishes []string `json:"publishes,omitempty"`
}

// ConsumerDefinition is one entry of `consumers`.
type ConsumerDefinition struct {
	Name      string   `json:"name"`
	Subscribe []string `json:"subscribe"`
	// Publishes is nil when undeclared; when declared it is enforced (S8).
	Publishes  []string `json:"publishes,omitempty"`
	HasMutate  bool     `json:"hasMutate"`
	HasNext    bool     `json:"hasNext"`
	MutateByID bool     `json:"mutateById"` // mutateReads: "byId" (R6)
	// MaxAttempts is nil when unset (J2).
	MaxAttempts *int `json:"maxAttempts,omitempty"`
}

// Problem is one finding about a script, in the author's lines. An error is what certainly fails when
// it is reached; a warning is what its author will hardly have meant. The codes of Describe are
//   - those of Error for top-level code, and for what the text alone shows that it will end in:
//     phase.forbidden, connector.unknown, call.params, publish.invalid, input.invalid, topic.unknown,
//     topic.notSubscribed; besides them ctx.assigned, prepare.result and reservation.unknown
//   - shape.default, .name, .topics, .producer, .consumer, .empty: what the workflow is made of
//   - as warnings shape.unknownKey, handler.parameter, global.absent, .unknown, .shared, call.notAwaited,
//     call.catch, mutate.codeAfter, .secondCall, .loop, ui.title, title.constant, publish.unknownMember,
//     publish.messageIdRandom, prepare.reservations, prepare.unknownMember, prepare.wakeAt, prepared.unknown,
//     mutationResult.unknown, connector.dynamic, script.suspicious, script.problems
type Problem struct {
	Severity string `json:"severity"` // "error" or "warning"
	Code     string `json:"code"`
	Line     int    `json:"line"`   // 1-based, 0 where unknown
	Column   int    `json:"column"` // 1-based, 0 where unknown
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

// OperationKind mirrors the connector's: "list", "get" or "mutate".
type OperationKind string

// The kinds of connector operations a script can name.
const (
	KindList   OperationKind = "list"
	KindGet    OperationKind = "get"
	KindMutate OperationKind = "mutate"
)

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
	// ReadsByID allows get operations in mutate (R6).
	ReadsByID bool
	// Now is where ctx.now() and Date start; they advance from it with real time. Zero is the
	// real time.
	Now time.Time
	// Seed seeds Math.random.
	Seed   uint64
	Limits Limits
}

// CodeMore is the code of the error with which a call ends that needs more of a topic's pending
// events than it was given.
const CodeMore = "peek.more"

// Limits of one invocation; zero values are replaced by DefaultLimits.
type Limits struct {
	CPU       time.Duration // script time, connector reads not counted; at most MaxCPU
	Wall      time.Duration // script wall time, connector reads not counted; who gets no processor in it is not blamed
	Reads     time.Duration // sum of the durations of all connector reads
	Source    int           // bytes
	Argument  int           // bytes of everything the host passes in: arguments and pending events together, and each read's answer
	Result    int           // bytes of a returned value or a call's parameters
	State     int           // bytes of a returned handler state
	Publish   int           // bytes of all publishes together
	HostCalls int           // ctx calls; log, now and console are bounded by Log instead
	InFlight  int           // connector reads at once; more wait, which is no error
	Log       int           // bytes of log output; more is cut, not an error
	Stack     int           // nested calls, at most MaxStack
}

// MaxCPU is the largest Limits.CPU that is honoured; larger values are reduced to it. A regular
// expression that backtracks cannot be interrupted, it only times out, and its timeout (one for the
// process) must not be shorter than any script's deadline, or it would end as "no match".
const MaxCPU = 10 * time.Second

// MaxStack is the largest Limits.Stack that is honoured: unwinding nested native frames is quadratic,
// and deeper ones would hold a worker for seconds that nothing can interrupt.
const MaxStack = 2000

// DefaultLimits are the limits used for every value left zero.
var DefaultLimits = Limits{
	CPU: 2 * time.Second, Wall: 30 * time.Second, Reads: 5 * time.Minute,
	Source: 256 << 10, Argument: 16 << 20, Result: 1 << 20, State: 256 << 10, Publish: 3 << 20, HostCalls: 1000, InFlight: 16, Log: 64 << 10, Stack: 1000,
}

// Publish is one buffered publish (R10); visible only with the commit of its run.
type Publish struct {
	Topics    []string        `json:"topics"`
	MessageID string          `json:"messageId"`
	Title     string          `json:"title"`
	Payload   json.RawMessage `json:"payload"`
	InputID   string          `json:"inputId,omitempty"`
}

// Input is one buffered ctx.registerInput; ID is what the script got back.
type Input struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Type   string `json:"type"`
	ExtID  string `json:"externalId"`
	Title  string `json:"title"`
}

// MutationCall is the call that took mutate over (R4).
type MutationCall struct {
	Connector string
	Operation string
	Params    json.RawMessage
	// Oversize is how many bytes the parameters have where Limits.Result allows fewer: then Params is nil, the
	// invocation has failed, and the call must not be sent (F14).
	Oversize int
}

// LogLine is one ctx.log or console call.
type LogLine struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// Result of an invocation that ended well.
type Result struct {
	// Value is what the handler returned, as JSON; nil is undefined.
	Value     json.RawMessage
	Publishes []Publish
	Inputs    []Input
	// Call is set when mutate named its mutation, also with an error about its parameters (F14); nothing of the
	// script ran after it.
	Call *MutationCall
	Logs []LogLine
	// Reads is how many connector reads were made.
	Reads int
	// Malformed is where prepare returned a Value that is no prepare result (R19), as far as the text shows it.
	Malformed Place
}

// Host answers what must cross from a script to the engine: connector reads, and what ctx.getByIds asks for
// beyond the pending events that went in with the call.
type Host interface {
	// Read performs a list or get operation. The one of OwnConnector is GetByIDs: its params are an IDsQuery, and
	// its result is a JSON array of those of the Events that exist. Its error is returned unchanged inside *Error
	// (Cause), so that the engine can classify it. It is called from several goroutines at once
	// (at most 16 per invocation), and must return soon after ctx ends: an invocation that has
	// failed does not wait for its reads.
	Read(ctx context.Context, connector, operation string, params json.RawMessage) (json.RawMessage, error)
}

// OwnConnector is the connector of what the engine answers itself; no other has this name. GetByIDs is its
// only operation, in prepare (R8, R19).
const (
	OwnConnector = "pawl"
	GetByIDs     = "getByIds"
)

// IDsQuery are the parameters of GetByIDs.
type IDsQuery struct {
	Topic string   `json:"topic"`
	IDs   []string `json:"ids"`
}

// Executor turns script text into definitions and results, in worker processes (NewPool) or in this
// one (NewInProcess). Safe for concurrent use.
type Executor interface {
	// Describe transforms and compiles the source and reads its definition. Problems are the
	// author's; err is set only when the executor itself failed.
	Describe(ctx context.Context, source Source) (Definition, []Problem, error)
	// Invoke runs one handler in a fresh context. A failure is always a *Error; logs written
	// before it are in the Result beside it.
	Invoke(ctx context.Context, call Invocation, host Host) (Result, error)
	// Close ends the executor; calls in flight end with an error.
	Close() error
}

// Fault says who is to blame for a failed invocation; the engine derives the class from it (F1, F3).
type Fault string

// The faults.
const (
	// FaultScript: the script threw, returned something unusable, or broke a rule (phase table, limits).
	FaultScript Fault = "script"
	// FaultRead: a connector's read failed; Cause holds the host's error.
	FaultRead Fault = "read"
	// FaultTransient: our own side could not run it (reads took too long in sum, worker lost, shutdown).
	FaultTransient Fault = "transient"
	// FaultInternal: the executor is broken.
	FaultInternal Fault = "internal"
)

// Error is a failed invocation.
type Error struct {
	Fault Fault
	// Code names the limit or rule:
	//   - limit.cpu, .wall, .memory, .stack, .source, .argument, .result, .state, .publish, .hostCalls, .reads
	//   - phase.forbidden: the table of R8 (and of R6)
	//   - connector.unknown, operation.unknown, call.params, read.failed: calls of connectors
	//   - topic.notSubscribed, topic.unknown, publish.invalid, input.invalid: topics
	//   - handler.unknown, script.threw, script.result, script.pending, script.crashed,
	//     script.cancelled, script.syntax, script.import: the script as a whole
	//   - worker.lost: the worker process was ended or stopped from outside, got next to no processor
	//     time, or none could be started
	//   - internal: the executor or its host is broken
	Code    string
	Message string
	// Line and Column are in the author's source, 0 where unknown. Where the interpreter keeps no
	// position, as of a limit of memory, they are those of the handler.
	Line, Column int
	// Stack is the script's stack in the author's lines, at most 4 KiB.
	Stack string
	// Cause is the host's error of a failed read.
	Cause error
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Cause }

package sandbox

import (
	"encoding/json"
	"slices"
)

// Definition is what a script declares in `export default Pawl.workflow({...})`. It is plain
// data: schedules and names are checked by engine/deploy, not here.
type Definition struct {
	Name      string               `json:"name"`
	Topics    []string             `json:"topics"`
	Producers []ProducerDefinition `json:"producers"`
	Consumers []ConsumerDefinition `json:"consumers"`
	Hooks     []HookDefinition     `json:"hooks,omitempty"`
	// Uses are the connector operations that the text of the script names, found without running
	// it, in the order of the text. An operation reached only by a computed name is not in it.
	Uses []OperationUse `json:"uses,omitempty"`
	// Calls are the calls of connector operations whose text shows something of their parameters.
	Calls []WrittenCall `json:"calls,omitempty"`
	// Results are the members that the text takes of what operations give.
	Results []ResultRead `json:"results,omitempty"`
	// MutateCalls are the calls of connector operations in mutate phases; see lint/onecall.
	MutateCalls []MutateCall `json:"mutateCalls,omitempty"`
	// Places are where the members are written, as far as the text shows it; see Place.
	Places map[string]Place `json:"places,omitempty"`
	// Incomplete tells that something could not be read and is missing: an error says what.
	Incomplete bool `json:"incomplete,omitempty"`
	// Unread are the paths of what is missing from an incomplete definition, as keys of Places; see
	// Lacks. Without any, nothing of the script could be read.
	Unread []string `json:"unread,omitempty"`
}

// OperationUse is one place in a script that names ctx.<Connector>.<Operation>; or ctx.vars.NAME, with VarsMember as
// the Connector and the name as the Operation.
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
	Publishes       []string `json:"publishes,omitempty"`
	HasMutate       bool     `json:"hasMutate"`
	HasNext         bool     `json:"hasNext"`
	MutateReadsByID bool     `json:"mutateById"` // mutateReads: "byId" (R6)
	// MaxAttempts is nil when unset (J2).
	MaxAttempts *int `json:"maxAttempts,omitempty"`
	// Concurrency is how many of its runs may be active, each for one event (C1); nil when unset. Key is a path into
	// the payload of an event (C2), Rate how often a run begins (C12).
	Concurrency *int   `json:"concurrency,omitempty"`
	Key         string `json:"key,omitempty"`
	Rate        string `json:"rate,omitempty"`
	// Approval is "ask" where a person approves each call, "script" where a function says of which; empty when unset.
	Approval string `json:"approval,omitempty"`
	// DeadLetter is the topic for what is discarded, empty when unset (J7).
	DeadLetter string `json:"deadLetter,omitempty"`
}

// ApprovalMember is the member of a consumer that says whether a person approves its calls.
const ApprovalMember = "approval"

// The values of ConsumerDefinition.Approval.
const (
	ApprovalAsk    = "ask"
	ApprovalScript = "script"
)

// HookDefinition is one entry of `hooks`, as it is written.
type HookDefinition struct {
	Name    string      `json:"name"`
	Topic   string      `json:"topic"`
	Verify  HookVerify  `json:"verify"`
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Headers []string    `json:"headers,omitempty"`
	Respond *HookAnswer `json:"respond,omitempty"`
}

// VerifyShape shows how verify is written.
const VerifyShape = `verify: { scheme: "github", secret: "NAME" }, verify: { hmac: "sha256", secret: "NAME", ` +
	`signed: "{body}", signatures: { header: "X-Signature", encoding: "hex" } }, ` +
	`verify: { token: "NAME", header: "X-Token" } or verify: "none"`

// HookVerify is how a hook's requests are verified: None, or a Scheme, or an HMAC with its parts, or a Token.
type HookVerify struct {
	None           bool            `json:"none,omitempty"`
	Scheme         string          `json:"scheme,omitempty"`
	Secret         string          `json:"secret,omitempty"`
	HMAC           string          `json:"hmac,omitempty"`
	SecretEncoding string          `json:"secretEncoding,omitempty"`
	Signed         string          `json:"signed,omitempty"`
	Signatures     *HookSignatures `json:"signatures,omitempty"`
	Timestamp      *HookTimestamp  `json:"timestamp,omitempty"`
	Token          string          `json:"token,omitempty"`
	Header         string          `json:"header,omitempty"`
	Query          string          `json:"query,omitempty"`
}

// HookSignatures says where signatures stand in a request.
type HookSignatures struct {
	Header   string `json:"header"`
	Split    string `json:"split,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
	Encoding string `json:"encoding"`
}

// HookTimestamp says where the time stands in a request.
type HookTimestamp struct {
	Header    string `json:"header,omitempty"`
	In        string `json:"in,omitempty"`
	Format    string `json:"format"`
	Tolerance string `json:"tolerance,omitempty"`
}

// HookAnswer is what a hook answers.
type HookAnswer struct {
	Status    int             `json:"status,omitempty"`
	Text      *string         `json:"text,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`
	Challenge string          `json:"challenge,omitempty"`
}

// MutateCall is a call of a connector operation in a mutate, and what the text has after it. Which of
// the calls are mutations the text does not say.
type MutateCall struct {
	Handler   string `json:"handler"`
	Connector string `json:"connector"`
	Operation string `json:"operation"`
	Place     Place  `json:"place"`
	// MutateReadsByID is the consumer's `mutateReads: "byId"`.
	MutateReadsByID bool `json:"readsById,omitempty"`
	// Parallel are the calls that are made at the same time as this one, Later those that stand after the statement of
	// this call.
	Parallel CallRange `json:"beside,omitzero"`
	Later    CallRange `json:"later,omitzero"`
	// Perhaps are calls that the text goes on to behind the branch or the case of this call.
	Perhaps CallRange `json:"perhaps,omitzero"`
	// After is the code after that statement, Finally the code of a finally block around the call; the zero value is none.
	After   Place `json:"after,omitzero"`
	Finally Place `json:"finally,omitzero"`
	// Loop is what makes the call again and again: "this loop" or the name of a method; empty for nothing.
	Loop string `json:"loop,omitempty"`
}

// ResultRead is a member that the text takes of the result of an operation.
type ResultRead struct {
	// Connector and Operation are empty for the outcome of the mutation of a consumer, which Handler names then.
	Connector string `json:"connector,omitempty"`
	Operation string `json:"operation,omitempty"`
	Handler   string `json:"handler,omitempty"`
	// Path leads from the result to what Name is taken of; "*" is an element of a list.
	Path []string `json:"path,omitempty"`
	Name string   `json:"name"`
	// Place is where the name stands. Pattern tells that a pattern takes it, Called that it is called.
	Place
	Pattern bool `json:"pattern,omitempty"`
	Called  bool `json:"called,omitempty"`
}

// CallRange is a part of a definition's MutateCalls.
type CallRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// WrittenCall is one call of ctx.<Connector>.<Operation>, with its parameters as they are written.
type WrittenCall struct {
	Connector string  `json:"connector"`
	Operation string  `json:"operation"`
	Params    Written `json:"params"`
}

// Written is a value as far as the text of a script shows for certain what JSON it becomes.
type Written struct {
	// Place is where the name of a member stands, else where the value itself does.
	Place
	// Kind is empty where the value may be anything, also undefined: its member may not be there then.
	Kind WrittenKind `json:"kind,omitempty"`
	// Value is the JSON of text, a number or a flag, empty where only the kind is certain.
	Value json.RawMessage `json:"value,omitempty"`
	// Members are the members of an object, each name once; Items the items of an array, from its first on.
	Members []WrittenMember `json:"members,omitempty"`
	Items   []Written       `json:"items,omitempty"`
	// Open tells that there may be more members or items than these.
	Open bool `json:"open,omitempty"`
	// Prefix is how a text begins that is not wholly certain; empty where that is not certain either.
	Prefix string `json:"prefix,omitempty"`
	// Stringified tells that the value is the result of JSON.stringify, which is called at StringifiedAt.
	Stringified bool `json:"stringified,omitempty"`
	// Handed tells that the value is what prepare has returned, and is written there.
	Handed        bool  `json:"handed,omitempty"`
	StringifiedAt Place `json:"stringifiedAt,omitzero"`
}

// WrittenMember is a member of a written object.
type WrittenMember struct {
	Name  string  `json:"name"`
	Value Written `json:"written"`
}

// WrittenKind is a type of JSON, named as in a JSON Schema.
type WrittenKind string

// The kinds of values.
const (
	WrittenString  WrittenKind = "string"
	WrittenNumber  WrittenKind = "number"
	WrittenBoolean WrittenKind = "boolean"
	WrittenNull    WrittenKind = "null"
	WrittenArray   WrittenKind = "array"
	WrittenObject  WrittenKind = "object"
)

// Place is where a member of the definition is written: Place("consumers", "record", "subscribe", "0"). For a member
// that is not in the text it is the place of the nearest enclosing member that is.
func (d *Definition) Place(path ...string) Place {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if at, ok := d.Places[PlaceKey(path)]; ok {
			return at
		}
	}
	return d.Places[""]
}

// Lacks reports whether a member, or what it is a part of, could not be read: nothing follows from its
// absence.
func (d *Definition) Lacks(path ...string) bool {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if slices.Contains(d.Unread, PlaceKey(path)) {
			return true
		}
	}
	return d.Incomplete && len(d.Unread) == 0
}

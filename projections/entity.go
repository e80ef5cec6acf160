package projections

import (
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
)

// Ordinal is an entity's place in the log: the sequence of the transition that created it and
// the fact's index there. It orders entities oldest first, the same in every replay.
type Ordinal struct {
	Seq uint64 `msgpack:"q"`
	N   uint32 `msgpack:"n"`
}

// Before reports whether o was created before p.
func (o Ordinal) Before(p Ordinal) bool {
	return o.Seq < p.Seq || o.Seq == p.Seq && o.N < p.N
}

// Workflow is the core of a workflow: small, always in memory.
type Workflow struct {
	Name     eventlog.WorkflowName     `msgpack:"name"`
	Head     eventlog.Head             `msgpack:"head"`
	Version  eventlog.Version          `msgpack:"version"`
	Grants   map[string]eventlog.Grant `msgpack:"grants"`
	Created  Ordinal                   `msgpack:"created"`
	Archived bool                      `msgpack:"archived,omitempty"`
	// Pause is a person's pause, nil while it is not paused by a person; Blocked is the system's hold.
	// Neither touches the other (F7).
	Pause   *Pause `msgpack:"pause,omitempty"`
	Blocked *Block `msgpack:"blocked,omitempty"`
	// Maintenance holds everything until a repair (F7); RepairFailures counts logic
	// failures in a row (F9).
	Maintenance    *Maintenance `msgpack:"maintenance,omitempty"`
	RepairFailures int          `msgpack:"repairFailures,omitempty"`
	// RepairHandler is the handler whose failure was counted last: only its success says
	// that a repair has worked.
	RepairHandler eventlog.Handler `msgpack:"repairHandler,omitempty"`
	Backoff       *Backoff         `msgpack:"backoff,omitempty"`
	// PendingRetry is the ended plain run that owes a retry or a settlement (R16).
	PendingRetry eventlog.RunID `msgpack:"pendingRetry,omitempty"`
	// Current is the plain run that is active or awaits an approval.
	Current eventlog.RunID     `msgpack:"current,omitempty"`
	Session eventlog.SessionID `msgpack:"session,omitempty"`
	// Waiting counts the pending events of each topic that has any, by topic. Those of a topic
	// that no consumer subscribes to need not be in memory.
	Waiting []Waiting `msgpack:"waiting,omitempty"`
	Counts  Counts    `msgpack:"counts"`
	// Tokens are the named tokens in use, by hash; those of the installation alone.
	Tokens []Token `msgpack:"tokens,omitempty"`
	// Logins are those of browsers that are not closed, oldest first; those of the installation alone.
	Logins []Login `msgpack:"logins,omitempty"`
}

// Pause names the actor that paused a workflow, and the time.
type Pause struct {
	By    eventlog.Actor   `msgpack:"by"`
	Since eventlog.Instant `msgpack:"since"`
	// Restored says that the log was restored from a backup since, nil where it was not: a person has to look at what
	// was done after the backup.
	Restored *Restored `msgpack:"restored,omitempty"`
}

// Restored is where and when the backup was made.
type Restored struct {
	From    string           `msgpack:"from"`
	TakenAt eventlog.Instant `msgpack:"takenAt"`
}

// Block is a system hold.
type Block struct {
	Reason  eventlog.BlockReason `msgpack:"reason"`
	Message string               `msgpack:"message"`
	Run     eventlog.RunID       `msgpack:"run,omitempty"`
	Since   eventlog.Instant     `msgpack:"since"`
}

// Maintenance is a wait for a repair.
type Maintenance struct {
	Run   eventlog.RunID   `msgpack:"run"`
	Since eventlog.Instant `msgpack:"since"`
}

// Backoff is a wait after transient failures.
type Backoff struct {
	Attempt int              `msgpack:"attempt"`
	Until   eventlog.Instant `msgpack:"until"`
	// Attention is since when there are so many that a person should look, zero before (F8).
	Attention eventlog.Instant `msgpack:"attention,omitempty"`
}

// Script is one deployed version.
type Script struct {
	Version    eventlog.Version    `msgpack:"version"`
	Filename   string              `msgpack:"filename"`
	Source     string              `msgpack:"source"`
	SourceHash string              `msgpack:"sourceHash"`
	Definition eventlog.Definition `msgpack:"definition"`
	Repair     bool                `msgpack:"repair,omitempty"`
	Note       string              `msgpack:"note,omitempty"`
	DeployedAt eventlog.Instant    `msgpack:"deployedAt"`
	DeployedBy eventlog.Actor      `msgpack:"deployedBy"`
	Created    Ordinal             `msgpack:"created"`
	// Revision is the one at which it was deployed.
	Revision uint64 `msgpack:"revision"`
}

// Session is one burst of runs (S7).
type Session struct {
	ID     eventlog.SessionID     `msgpack:"id"`
	Result eventlog.SessionResult `msgpack:"result,omitempty"`
	// ProducersFirst gives producers due at its start their turn before consumers (S7).
	ProducersFirst bool             `msgpack:"producersFirst,omitempty"`
	Runs           int              `msgpack:"runs"`
	StartedAt      eventlog.Instant `msgpack:"startedAt"`
	EndedAt        eventlog.Instant `msgpack:"endedAt,omitempty"`
	Created        Ordinal          `msgpack:"created"`
}

// Status is a workflow's derived status (F7).
type Status string

// Attention is what a person should look at although nothing waits for a person.
type Attention struct {
	Reason AttentionReason
	Since  eventlog.Instant
	// Failures is how many transient failures stand in a row, how many probes have failed, or how many events are held,
	// are discarded, have failed so often or have an unknown fate.
	Failures int
}

// AttentionReason says why a workflow needs attention.
type AttentionReason string

// Handler is a producer's or consumer's own record.
type Handler struct {
	Name eventlog.Handler     `msgpack:"name"`
	Type eventlog.HandlerType `msgpack:"type"`
	// State is nil when never saved (R13).
	State     json.RawMessage  `msgpack:"state,omitempty"`
	NextRunAt eventlog.Instant `msgpack:"nextRunAt,omitempty"`
	// AskedAt is the scheduled time of a producer run that has begun and of which no try has committed yet; zero for none
	// (S2).
	AskedAt eventlog.Instant `msgpack:"askedAt,omitempty"`
	WakeAt  eventlog.Instant `msgpack:"wakeAt,omitempty"`
	// DirtyAt is the revision at which the consumer last got something to look at, zero
	// when it has seen all (S3).
	DirtyAt uint64 `msgpack:"dirtyAt,omitempty"`
	// LookedAt is when its last run that looked started (a retry does not look): retryable
	// events that became due later make it due again (J2).
	LookedAt eventlog.Instant `msgpack:"lookedAt,omitempty"`
	// Failures is how many of its runs in a row have failed transiently on different events, since
	// the revision FailingAt; ConsumedAt is the revision of its last commit that took an event (J2).
	Failures   int     `msgpack:"failures,omitempty"`
	FailingAt  uint64  `msgpack:"failingAt,omitempty"`
	ConsumedAt uint64  `msgpack:"consumedAt,omitempty"`
	Created    Ordinal `msgpack:"created"`
	// StartedAt and ProvenStart are for concurrent consumers only: when the last run started (C12), and the newest
	// revision at which a run started that has committed its event.
	StartedAt   eventlog.Instant `msgpack:"startedAt,omitempty"`
	ProvenStart uint64           `msgpack:"provenStart,omitempty"`
	// Streak is what its last failures have in common, Probing that its target is to blame (C7); nil for nothing.
	Streak  *Streak  `msgpack:"row,omitempty"`
	Probing *Probing `msgpack:"probing,omitempty"`
	// Uncertain lists the newest calls in a row whose outcome is not known (C3).
	Uncertain []eventlog.MutationID `msgpack:"uncertain,omitempty"`
	// RepairFailures counts repairs in a row that have not helped, the last under RepairVersion (C5). A plain handler has
	// 1 from when another handler's failure was counted after its own until it succeeds (F9).
	RepairFailures int              `msgpack:"repairFailures,omitempty"`
	RepairVersion  eventlog.Version `msgpack:"repairVersion,omitempty"`
}

// Streak are events whose first failures follow each other with the same class (C7).
type Streak struct {
	Class  eventlog.Class      `msgpack:"class"`
	Events []eventlog.EventRef `msgpack:"events"`
	// Began is the revision at which the run of the first of them began, At that of the last failure.
	Began uint64 `msgpack:"began"`
	At    uint64 `msgpack:"at"`
}

// Probing is a consumer's wait for its target (C7).
type Probing struct {
	Class   eventlog.Class   `msgpack:"class"`
	Message string           `msgpack:"message"`
	Attempt int              `msgpack:"attempt"`
	At      eventlog.Instant `msgpack:"at"`
	// Since is when it began, Began its revision.
	Since eventlog.Instant `msgpack:"since"`
	Began uint64           `msgpack:"began"`
	// Attention is since when a person should look, zero before (F8).
	Attention eventlog.Instant `msgpack:"attention,omitempty"`
	// Probed: the last run that began took an event, as a probe does. After a retry of next it is false (C7).
	Probed bool `msgpack:"probed,omitempty"`
	// Newest: the next probe takes the newest of the events that have not failed, and not the oldest. It changes with
	// each run that begins and is no retry of next.
	Newest bool `msgpack:"newest,omitempty"`
}

// Run is one attempt of one handler.
type Run struct {
	ID      eventlog.RunID       `msgpack:"id"`
	Handler eventlog.Handler     `msgpack:"handler"`
	Type    eventlog.HandlerType `msgpack:"type"`
	Version eventlog.Version     `msgpack:"version"`
	Session eventlog.SessionID   `msgpack:"session"`
	Phase   eventlog.Phase       `msgpack:"phase"`
	Status  eventlog.RunStatus   `msgpack:"status"`
	RetryOf eventlog.RunID       `msgpack:"retryOf,omitempty"`
	// Outcome is empty, "success", "failure" or "skipped".
	Outcome       MutationOutcome         `msgpack:"outcome,omitempty"`
	Failure       *eventlog.Failure       `msgpack:"failure,omitempty"`
	PrepareResult json.RawMessage         `msgpack:"prepareResult,omitempty"`
	UITitle       string                  `msgpack:"uiTitle,omitempty"`
	WakeAt        eventlog.Instant        `msgpack:"wakeAt,omitempty"`
	Cancel        []eventlog.Cancellation `msgpack:"cancel,omitempty"`
	// Mutation is the ledger record of the run's chain, empty when no call was made.
	Mutation eventlog.MutationID `msgpack:"mutation,omitempty"`
	// Reserved lists what the run reserved. The event's ReservedBy says whether the run still holds it.
	Reserved      []eventlog.EventRef `msgpack:"reserved,omitempty"`
	StartedAt     eventlog.Instant    `msgpack:"startedAt"`
	EndedAt       eventlog.Instant    `msgpack:"endedAt,omitempty"`
	StartRevision uint64              `msgpack:"startRevision"`
	// BackRevision is the revision at which it went on after it had waited for a person, zero before (C3).
	BackRevision uint64 `msgpack:"backRevision,omitempty"`
	// Engine is the process incarnation that runs it (R14).
	Engine  string  `msgpack:"engine"`
	Created Ordinal `msgpack:"created"`
	// Depth is the deepest of the events that it has reserved or cancels (R20).
	Depth int `msgpack:"depth,omitempty"`
	// ScheduledAt is the time that the schedule of a producer asked for, the same in each further try (S2).
	ScheduledAt eventlog.Instant `msgpack:"scheduledAt,omitempty"`
	// Event is that of a concurrent consumer's run, Key its key as canonical JSON (C1, C2); nil for a plain run.
	Event *eventlog.EventRef `msgpack:"event,omitempty"`
	Key   string             `msgpack:"key,omitempty"`
	// Empty: prepare chose nothing of it (C6).
	Empty bool `msgpack:"empty,omitempty"`
	// Owes: it has ended and owes a retry or a settlement, due at RetryAt. Tries counts the failed tries of
	// its chain, and Attention is since when they are so many that a person should look (C5, F8).
	Owes      bool             `msgpack:"owes,omitempty"`
	RetryAt   eventlog.Instant `msgpack:"retryAt,omitempty"`
	Tries     int              `msgpack:"tries,omitempty"`
	Attention eventlog.Instant `msgpack:"attention,omitempty"`
}

// MutationOutcome is the run's own note of what became of its mutation.
type MutationOutcome string

// The outcomes.
const (
	OutcomeSuccess MutationOutcome = "success"
	OutcomeFailure MutationOutcome = "failure"
	OutcomeSkipped MutationOutcome = "skipped"
)

// Mutation is a record of the ledger.
type Mutation struct {
	ID                eventlog.MutationID     `msgpack:"id"`
	Run               eventlog.RunID          `msgpack:"run"`
	Call              eventlog.MutationCall   `msgpack:"call"`
	Key               string                  `msgpack:"key,omitempty"`
	Status            eventlog.MutationStatus `msgpack:"status"`
	Result            json.RawMessage         `msgpack:"result,omitempty"`
	Failure           *eventlog.Failure       `msgpack:"failure,omitempty"`
	ResolvedBy        string                  `msgpack:"resolvedBy,omitempty"`
	ReconcileAttempts int                     `msgpack:"reconcileAttempts,omitempty"`
	ReconcileAt       eventlog.Instant        `msgpack:"reconcileAt,omitempty"`
	// ReconcileSince is when ReconcileAt was set.
	ReconcileSince eventlog.Instant `msgpack:"reconcileSince,omitempty"`
	// OverAt is when nothing of the call can be under way any more, zero while that is not known (F5).
	OverAt eventlog.Instant `msgpack:"overAt,omitempty"`
	// BecameAskable says that the connector could not be asked about the call when it was made, and can now (O3).
	BecameAskable bool `msgpack:"askableSince,omitempty"`
	// ResentAt is when the same call was sent again last, zero for never; Deadline and Engine are of that one then.
	// Resending says that nothing was recorded of it since.
	ResentAt    eventlog.Instant `msgpack:"resentAt,omitempty"`
	Resending   bool             `msgpack:"resending,omitempty"`
	RequestedAt eventlog.Instant `msgpack:"requestedAt,omitempty"`
	// ApprovedAt is when a person allowed a call whose run waits for a place (C3).
	ApprovedAt eventlog.Instant `msgpack:"approvedAt,omitempty"`
	StartedAt  eventlog.Instant `msgpack:"startedAt,omitempty"`
	Deadline   eventlog.Instant `msgpack:"deadline,omitempty"`
	SettledAt  eventlog.Instant `msgpack:"settledAt,omitempty"`
	Engine     string           `msgpack:"engine,omitempty"`
	// Contradiction is a late answer that differs from the final outcome (F12).
	Contradiction string `msgpack:"contradiction,omitempty"`
	// Comment is the latest of the people who decided on it, nil for none.
	Comment *Comment `msgpack:"comment,omitempty"`
	// Decision is the latest that was taken on it from outside, nil for none.
	Decision *Decision `msgpack:"decision,omitempty"`
	Created  Ordinal   `msgpack:"created"`
}

// TopicEvent is one of the workflow's own messages.
type TopicEvent struct {
	Topic      eventlog.Topic       `msgpack:"topic"`
	MessageID  eventlog.MessageID   `msgpack:"messageId"`
	Title      string               `msgpack:"title"`
	Payload    json.RawMessage      `msgpack:"payload"`
	Status     eventlog.EventStatus `msgpack:"status"`
	ReservedBy eventlog.RunID       `msgpack:"reservedBy,omitempty"`
	CreatedBy  eventlog.RunID       `msgpack:"createdBy,omitempty"`
	CausedBy   []eventlog.InputID   `msgpack:"causedBy,omitempty"`
	// Depth is how many publications, each made for the one before, have led to it: 0 for what a producer or the
	// outside has published (R20).
	Depth int `msgpack:"depth,omitempty"`
	// Traceparent is the context of its sender's trace, empty where it came with none.
	Traceparent string `msgpack:"traceparent,omitempty"`
	// Executions counts reservations since creation or the last redrive (J1, J3); Attempts
	// are the latest of them, at most maxAttemptsKept.
	Executions int `msgpack:"executions,omitempty"`
	// Failures counts the failures that count against its job since creation or redrive: a
	// crash does not, nor does a failure that holds the workflow instead (J2, J6).
	Failures int `msgpack:"failures,omitempty"`
	// Tries counts all failed tries, also those that Failures leaves out. The back-off is computed from it. FailedAt is
	// the revision of the last failed one, zero before the first (J2).
	Tries    int       `msgpack:"tries,omitempty"`
	FailedAt uint64    `msgpack:"failedAt,omitempty"`
	Attempts []Attempt `msgpack:"attempts,omitempty"`
	// ScheduledAt hides a retryable event until then (J2).
	ScheduledAt   eventlog.Instant `msgpack:"scheduledAt,omitempty"`
	FinalizedAt   eventlog.Instant `msgpack:"finalizedAt,omitempty"`
	SkipRequested bool             `msgpack:"skipRequested,omitempty"`
	Reason        string           `msgpack:"reason,omitempty"`
	// Unknown: it was given up with an accepted loss, and a call may have been made for it (O11).
	Unknown bool `msgpack:"unknown,omitempty"`
	// WasUnknown: it was Unknown when it was redriven, more runs belong to Former than are kept, or an attempt was
	// forgotten whose call may have had its effect. Former are the latest runs with which it had ended before, and which
	// had made a call: that may have had its effect, whatever becomes of the event now (O11).
	WasUnknown bool             `msgpack:"wasUnknown,omitempty"`
	Former     []eventlog.RunID `msgpack:"former,omitempty"`
	// Undecided: it is Unknown, and no person has said yet that it was handled, or redriven it.
	Undecided bool             `msgpack:"undecided,omitempty"`
	CreatedAt eventlog.Instant `msgpack:"createdAt"`
	Created   Ordinal          `msgpack:"created"`
	// Held says what keeps it from going on, nil for nothing (C5).
	Held *Held `msgpack:"held,omitempty"`
	// Decision is the latest that was taken on it from outside, nil for none.
	Decision *Decision `msgpack:"decision,omitempty"`
	// Deferred: it is hidden because prepare chose nothing, until a deploy at the latest (C6).
	Deferred bool `msgpack:"deferred,omitempty"`
	// Counted: its last failure counts in Failures. Attention is since when it has failed so often that a
	// person should look, zero before (F8).
	Counted   bool             `msgpack:"counted,omitempty"`
	Attention eventlog.Instant `msgpack:"attention,omitempty"`
}

// Held is what keeps an event from going on.
type Held struct {
	Reason eventlog.HeldReason `msgpack:"reason"`
	Since  eventlog.Instant    `msgpack:"since"`
	// Run is the one after which it is held.
	Run eventlog.RunID `msgpack:"run"`
}

// Token is a named token that is in use. What it opens is in its fields; the token itself is kept nowhere.
type Token struct {
	Name eventlog.TokenName `msgpack:"name"`
	Role eventlog.TokenRole `msgpack:"role"`
	// Workflow, unless empty, is the only one that the token is for.
	Workflow  eventlog.WorkflowName `msgpack:"workflow,omitempty"`
	Hash      string                `msgpack:"hash"` // SHA-256, hex
	Last4     string                `msgpack:"last4"`
	CreatedAt eventlog.Instant      `msgpack:"createdAt"`
	CreatedBy eventlog.Actor        `msgpack:"createdBy"`
}

// Login lets a browser act for a user. What it opens is in its fields; its secret is kept nowhere.
type Login struct {
	ID   eventlog.LoginID   `msgpack:"id"`
	Hash string             `msgpack:"hash"` // SHA-256, hex
	User eventlog.Actor     `msgpack:"user"`
	Role eventlog.TokenRole `msgpack:"role"`
	// Workflow, unless empty, is the only one that the login is for.
	Workflow eventlog.WorkflowName `msgpack:"workflow,omitempty"`
	// Token is the named token with which it was asked for, empty for another one.
	Token     eventlog.TokenName `msgpack:"token,omitempty"`
	OpenedAt  eventlog.Instant   `msgpack:"openedAt"`
	ExpiresAt eventlog.Instant   `msgpack:"expiresAt"`
}

// Attempt is one execution of a job (J1).
type Attempt struct {
	N       int               `msgpack:"n"`
	Run     eventlog.RunID    `msgpack:"run"`
	At      eventlog.Instant  `msgpack:"at"`
	EndedAt eventlog.Instant  `msgpack:"endedAt,omitempty"`
	Failure *eventlog.Failure `msgpack:"failure,omitempty"`
	// Called: it has ended, and its run had made a call. A late answer may still say that the call was applied (F12).
	Called bool `msgpack:"called,omitempty"`
}

// Input is something outside that the workflow took in.
type Input struct {
	ID         eventlog.InputID `msgpack:"id"`
	Source     string           `msgpack:"source"`
	Type       string           `msgpack:"type"`
	ExternalID string           `msgpack:"externalId"`
	Title      string           `msgpack:"title"`
	// Open, Consumed, Skipped and Discarded count the events it caused by how they stand.
	Open      int                   `msgpack:"open,omitempty"`
	Consumed  int                   `msgpack:"consumed,omitempty"`
	Skipped   int                   `msgpack:"skipped,omitempty"`
	Discarded int                   `msgpack:"discarded,omitempty"`
	Outputs   []eventlog.MutationID `msgpack:"outputs,omitempty"`
	At        eventlog.Instant      `msgpack:"at"`
	Created   Ordinal               `msgpack:"created"`
}

// Comment is what a person has said with a decision.
type Comment struct {
	Text string           `msgpack:"text"`
	By   eventlog.Actor   `msgpack:"by"`
	At   eventlog.Instant `msgpack:"at"`
}

// Decision is what a person or client has decided on a mutation or an event (O10).
type Decision struct {
	What DecisionKind     `msgpack:"what"`
	By   eventlog.Actor   `msgpack:"by"`
	At   eventlog.Instant `msgpack:"at"`
}

// DecisionKind names a decision.
type DecisionKind string

// The decisions: the first three are about mutations, the others about events.
const (
	DecidedApproved DecisionKind = "approved"
	DecidedRejected DecisionKind = "rejected"
	DecidedResolved DecisionKind = "resolved"
	DecidedSkip     DecisionKind = "skipped"
	DecidedRedrive  DecisionKind = "redriven"
)

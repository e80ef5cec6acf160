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

// Entities are immutable values once they are in a State: every change replaces the pointer.
type (
	// Workflow is the core of a workflow: small, always in memory.
	Workflow struct {
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
		// PendingRetry is the ended run that owes a retry or a settlement (R16).
		PendingRetry eventlog.RunID `msgpack:"pendingRetry,omitempty"`
		// Current is the run that is active or awaits an approval.
		Current eventlog.RunID     `msgpack:"current,omitempty"`
		Session eventlog.SessionID `msgpack:"session,omitempty"`
		// Waiting counts the pending events of each topic that has any, by topic. Those of a topic
		// that no consumer subscribes to need not be in memory.
		Waiting []Waiting `msgpack:"waiting,omitempty"`
		Counts  Counts    `msgpack:"counts"`
		// Tokens are the named tokens in use, by hash; those of the installation alone.
		Tokens []Token `msgpack:"tokens,omitempty"`
	}
	// Waiting is how many events of a topic are pending.
	Waiting struct {
		Topic  eventlog.Topic `msgpack:"topic"`
		Events int            `msgpack:"events"`
	}
	// Pause names the actor that paused a workflow, and the time.
	Pause struct {
		By    eventlog.Actor   `msgpack:"by"`
		Since eventlog.Instant `msgpack:"since"`
	}
	// Block is a system hold.
	Block struct {
		Reason  eventlog.BlockReason `msgpack:"reason"`
		Message string               `msgpack:"message"`
		Run     eventlog.RunID       `msgpack:"run,omitempty"`
		Since   eventlog.Instant     `msgpack:"since"`
	}
	// Maintenance is a wait for a repair.
	Maintenance struct {
		Run   eventlog.RunID   `msgpack:"run"`
		Since eventlog.Instant `msgpack:"since"`
	}
	// Backoff is a wait after transient failures.
	Backoff struct {
		Attempt int              `msgpack:"attempt"`
		Until   eventlog.Instant `msgpack:"until"`
		// Attention is since when there are so many that a person should look, zero before (F8).
		Attention eventlog.Instant `msgpack:"attention,omitempty"`
	}
	// Counts are the events whose jobs run, wait for a retry or are put aside.
	Counts struct {
		Running   int `msgpack:"running,omitempty"`
		Retryable int `msgpack:"retryable,omitempty"`
		Discarded int `msgpack:"discarded,omitempty"`
		// DiscardedSince is since when there has been a discarded one, zero without any.
		DiscardedSince eventlog.Instant `msgpack:"discardedSince,omitempty"`
		// Undecided are those of which a person has to say whether they were handled: see TopicEvent.Undecided.
		// UndecidedFirst names the oldest of them.
		Undecided      int              `msgpack:"undecided,omitempty"`
		UndecidedSince eventlog.Instant `msgpack:"undecidedSince,omitempty"`
		UndecidedFirst []Undecided      `msgpack:"undecidedFirst,omitempty"`
	}
	// Undecided is an event of which a person has to say whether it was handled.
	Undecided struct {
		Topic     eventlog.Topic     `msgpack:"topic"`
		MessageID eventlog.MessageID `msgpack:"messageId"`
		Title     string             `msgpack:"title"`
	}
	// Script is one deployed version.
	Script struct {
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
	}
	// Handler is a producer's or consumer's own record.
	Handler struct {
		Name eventlog.Handler     `msgpack:"name"`
		Type eventlog.HandlerType `msgpack:"type"`
		// State is nil when never saved (R13).
		State     json.RawMessage  `msgpack:"state,omitempty"`
		NextRunAt eventlog.Instant `msgpack:"nextRunAt,omitempty"`
		WakeAt    eventlog.Instant `msgpack:"wakeAt,omitempty"`
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
	}
	// Run is one attempt of one handler.
	Run struct {
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
		// Reserved lists what the run reserved. Whether it still holds an event says the
		// event's ReservedBy.
		Reserved      []eventlog.EventRef `msgpack:"reserved,omitempty"`
		StartedAt     eventlog.Instant    `msgpack:"startedAt"`
		EndedAt       eventlog.Instant    `msgpack:"endedAt,omitempty"`
		StartRevision uint64              `msgpack:"startRevision"`
		// Engine is the process incarnation that runs it (R14).
		Engine  string  `msgpack:"engine"`
		Created Ordinal `msgpack:"created"`
	}
	// Mutation is a record of the ledger.
	Mutation struct {
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
		// OverAt is when nothing of the call can be under way any more, zero while that is not known (F5).
		OverAt      eventlog.Instant `msgpack:"overAt,omitempty"`
		RequestedAt eventlog.Instant `msgpack:"requestedAt,omitempty"`
		StartedAt   eventlog.Instant `msgpack:"startedAt,omitempty"`
		Deadline    eventlog.Instant `msgpack:"deadline,omitempty"`
		SettledAt   eventlog.Instant `msgpack:"settledAt,omitempty"`
		Engine      string           `msgpack:"engine,omitempty"`
		// Contradiction is a late answer that differs from the final outcome (F12).
		Contradiction string  `msgpack:"contradiction,omitempty"`
		Created       Ordinal `msgpack:"created"`
	}
	// TopicEvent is one of the workflow's own messages.
	TopicEvent struct {
		Topic      eventlog.Topic       `msgpack:"topic"`
		MessageID  eventlog.MessageID   `msgpack:"messageId"`
		Title      string               `msgpack:"title"`
		Payload    json.RawMessage      `msgpack:"payload"`
		Status     eventlog.EventStatus `msgpack:"status"`
		ReservedBy eventlog.RunID       `msgpack:"reservedBy,omitempty"`
		CreatedBy  eventlog.RunID       `msgpack:"createdBy,omitempty"`
		CausedBy   []eventlog.InputID   `msgpack:"causedBy,omitempty"`
		// Executions counts reservations since creation or the last redrive (J1, J3); Attempts
		// are the latest of them, at most maxAttemptsKept.
		Executions int `msgpack:"executions,omitempty"`
		// Failures counts the failures that count against its job since creation or redrive: a
		// crash does not, nor does a failure that holds the workflow instead (J2, J6).
		Failures int `msgpack:"failures,omitempty"`
		// Tries counts those that do not count too: it spaces the tries. FailedAt is the revision of
		// the last failed one, zero before the first (J2).
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
		// Undecided: it is Unknown, and no person has said yet that it was handled, or redriven it.
		Undecided bool             `msgpack:"undecided,omitempty"`
		CreatedAt eventlog.Instant `msgpack:"createdAt"`
		Created   Ordinal          `msgpack:"created"`
	}
	// Attempt is one execution of a job (J1).
	Attempt struct {
		N       int               `msgpack:"n"`
		Run     eventlog.RunID    `msgpack:"run"`
		At      eventlog.Instant  `msgpack:"at"`
		EndedAt eventlog.Instant  `msgpack:"endedAt,omitempty"`
		Failure *eventlog.Failure `msgpack:"failure,omitempty"`
	}
	// Input is something outside that the workflow took in.
	Input struct {
		ID         eventlog.InputID `msgpack:"id"`
		Source     string           `msgpack:"source"`
		Type       string           `msgpack:"type"`
		ExternalID string           `msgpack:"externalId"`
		Title      string           `msgpack:"title"`
		// Open, Consumed and Skipped count the events it caused by how they stand; discarded
		// ones count as skipped.
		Open     int                   `msgpack:"open,omitempty"`
		Consumed int                   `msgpack:"consumed,omitempty"`
		Skipped  int                   `msgpack:"skipped,omitempty"`
		Outputs  []eventlog.MutationID `msgpack:"outputs,omitempty"`
		At       eventlog.Instant      `msgpack:"at"`
		Created  Ordinal               `msgpack:"created"`
	}
	// Session is one burst of runs (S7).
	Session struct {
		ID     eventlog.SessionID     `msgpack:"id"`
		Result eventlog.SessionResult `msgpack:"result,omitempty"`
		// ProducersFirst gives producers due at its start their turn before consumers (S7).
		ProducersFirst bool             `msgpack:"producersFirst,omitempty"`
		Runs           int              `msgpack:"runs"`
		StartedAt      eventlog.Instant `msgpack:"startedAt"`
		EndedAt        eventlog.Instant `msgpack:"endedAt,omitempty"`
		Created        Ordinal          `msgpack:"created"`
	}
)

// MutationOutcome is the run's own note of what became of its mutation.
type MutationOutcome string

// The outcomes.
const (
	OutcomeNone    MutationOutcome = ""
	OutcomeSuccess MutationOutcome = "success"
	OutcomeFailure MutationOutcome = "failure"
	OutcomeSkipped MutationOutcome = "skipped"
)

// maxAttemptsKept bounds an event's row: a job that crashes forever (J6) must not grow forever.
const maxAttemptsKept = 50

package projections

import (
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
)

// Handler is a producer's or consumer's own record.
type Handler struct {
	Name eventlog.Handler     `msgpack:"name"`
	Type eventlog.HandlerType `msgpack:"type"`
	// State is nil when never saved (R13).
	State     json.RawMessage  `msgpack:"state,omitempty"`
	NextRunAt eventlog.Instant `msgpack:"nextRunAt,omitempty"`
	// AskedAt is when the schedule asked for the run of a producer that is owed since: it has begun and no run has
	// committed yet. Zero for none (S2).
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
	// StartedAt and ProvenStart are for concurrent consumers only: when the last run started (C12), and the latest start
	// of a run that has committed its event.
	StartedAt   eventlog.Instant `msgpack:"startedAt,omitempty"`
	ProvenStart uint64           `msgpack:"provenStart,omitempty"`
	// Streak is what its last failures have in common, Probing that its target is to blame (C7); nil for nothing.
	Streak  *Streak  `msgpack:"row,omitempty"`
	Probing *Probing `msgpack:"probing,omitempty"`
	// Uncertain lists the newest calls in a row whose outcome is not known (C3).
	Uncertain []eventlog.MutationID `msgpack:"uncertain,omitempty"`
	// RepairFailures counts repairs in a row that have not helped, the last under RepairVersion (C5). For a plain handler
	// it is 1 if its failure was counted, another handler's failure was counted after it, and it has not succeeded since
	// (F9).
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
}

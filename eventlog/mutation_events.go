package eventlog

import "encoding/json"

// MutationStatus is how far a mutation has come, or how it ended.
type MutationStatus string

// The statuses of a mutation. Applied, failed and given up are final.
const (
	MutationStatusAwaitingApproval MutationStatus = "awaiting_approval" // nothing has left (O5)
	MutationStatusInFlight         MutationStatus = "in_flight"         // the request may have left (F6)
	MutationStatusNeedsReconcile   MutationStatus = "needs_reconcile"   // its outcome is asked for, with backoff (F5)
	MutationStatusIndeterminate    MutationStatus = "indeterminate"     // only a person can say
	MutationStatusApplied          MutationStatus = "applied"
	MutationStatusFailed           MutationStatus = "failed"
	// MutationStatusGivenUp: its records were given up with an accepted loss. Nothing is sent or asked any more,
	// and only the other side knows what became of it.
	MutationStatusGivenUp MutationStatus = "given_up"
)

// Final reports whether the mutation's outcome is settled.
func (s MutationStatus) Final() bool {
	return s == MutationStatusApplied || s == MutationStatusFailed || s == MutationStatusGivenUp
}

// Unresolved reports whether the request may have left and its outcome is not known (R16a).
func (s MutationStatus) Unresolved() bool {
	return s == MutationStatusInFlight || s == MutationStatusNeedsReconcile || s == MutationStatusIndeterminate
}

// What settled a mutation when it was not the call's own answer.
const (
	ResolvedByReconcile   = "reconcile"
	ResolvedByNeverSent   = "never_sent"
	ResolvedByLateReply   = "late_reply"
	ResolvedByUserFailed  = "user_assert_failed"
	ResolvedByUserApplied = "user_assert_applied"
	ResolvedByUserSkip    = "user_skip"
	ResolvedByUserReject  = "user_reject"
)

// MutationCall is a mutation's exact request: what is recorded is what is sent.
type MutationCall struct {
	Connector string          `msgpack:"connector" json:"connector"`
	Operation string          `msgpack:"operation" json:"operation"`
	Params    json.RawMessage `msgpack:"params" json:"params"`
	// ParamsHash is the SHA-256 of Params, hex: what an approval is bound to (O5).
	ParamsHash string `msgpack:"paramsHash" json:"paramsHash"`
	UITitle    string `msgpack:"uiTitle,omitempty" json:"uiTitle,omitempty"`
	Reconciles bool   `msgpack:"reconciles,omitempty" json:"reconciles"`
	TimeoutMS  int64  `msgpack:"timeoutMs" json:"timeoutMs"`
	// ResendMS is how many milliseconds after its start the other side still knows the call by its key, so that the same
	// call may be sent again to find out what became of it (F5). That is the operator's promise; 0 is none.
	ResendMS int64 `msgpack:"resendMs,omitempty" json:"resendMs,omitempty"`
}

// Resends reports whether the same call may be sent again to find out what became of it.
func (c *MutationCall) Resends() bool { return c.ResendMS > 0 }

type (
	// MutationApprovalRequested: the call waits for a person; nothing has left.
	MutationApprovalRequested struct {
		Mutation MutationID   `msgpack:"mutation" json:"mutation"`
		Run      RunID        `msgpack:"run" json:"run"`
		Call     MutationCall `msgpack:"call" json:"call"`
	}
	// MutationApproved: a person allowed exactly this call.
	MutationApproved struct {
		Mutation   MutationID `msgpack:"mutation" json:"mutation"`
		ParamsHash string     `msgpack:"paramsHash" json:"paramsHash"`
	}
	// MutationRefused: the script named a call that breaks the operation's schema or a limit. Nothing has
	// left and nothing will (F14).
	MutationRefused struct {
		Mutation MutationID   `msgpack:"mutation" json:"mutation"`
		Run      RunID        `msgpack:"run" json:"run"`
		Call     MutationCall `msgpack:"call" json:"call"`
		Failure  Failure      `msgpack:"failure" json:"failure"`
	}
	// MutationStarted: the barrier. Only after this is durable may the request leave, and only
	// before Deadline.
	MutationStarted struct {
		Mutation MutationID   `msgpack:"mutation" json:"mutation"`
		Run      RunID        `msgpack:"run" json:"run"`
		Call     MutationCall `msgpack:"call" json:"call"`
		Key      string       `msgpack:"key" json:"key"`
		Deadline Instant      `msgpack:"deadline" json:"deadline"`
		Engine   string       `msgpack:"engine" json:"engine"`
	}
	// MutationApplied: it happened.
	MutationApplied struct {
		Mutation   MutationID      `msgpack:"mutation" json:"mutation"`
		Run        RunID           `msgpack:"run" json:"run"`
		Result     json.RawMessage `msgpack:"result" json:"result"`
		ResolvedBy string          `msgpack:"resolvedBy,omitempty" json:"resolvedBy,omitempty"`
	}
	// MutationFailed: it did not happen.
	MutationFailed struct {
		Mutation   MutationID `msgpack:"mutation" json:"mutation"`
		Run        RunID      `msgpack:"run" json:"run"`
		Failure    Failure    `msgpack:"failure" json:"failure"`
		ResolvedBy string     `msgpack:"resolvedBy,omitempty" json:"resolvedBy,omitempty"`
	}
	// MutationSkipped: a person chose to go on without it (O2, O5).
	MutationSkipped struct {
		Mutation   MutationID `msgpack:"mutation" json:"mutation"`
		Run        RunID      `msgpack:"run" json:"run"`
		ResolvedBy string     `msgpack:"resolvedBy" json:"resolvedBy"`
	}
	// MutationReconcileScheduled: the outcome is unknown; attempt Attempt to find out is due at At.
	MutationReconcileScheduled struct {
		Mutation MutationID `msgpack:"mutation" json:"mutation"`
		Attempt  int        `msgpack:"attempt" json:"attempt"`
		At       Instant    `msgpack:"at" json:"at"`
		Failure  Failure    `msgpack:"failure" json:"failure"`
		// OverAt is when nothing of the call can be under way any more: attempts before it were not counted.
		// Zero while that is not known. Version 1 did not have it, and attempts were counted too early.
		OverAt Instant `msgpack:"overAt,omitempty" json:"overAt,omitempty"`
		// Reconciles says that the connector can now be asked about the call; it could not when the call was made.
		Reconciles bool `msgpack:"reconciles,omitempty" json:"reconciles,omitempty"`
	}
	// MutationResent: to find out what became of the call, the same is sent once more with the same key. That may happen
	// only after this is durable, and only before Deadline. It is attempt Attempt, and is looked at again at At.
	MutationResent struct {
		Mutation MutationID `msgpack:"mutation" json:"mutation"`
		Attempt  int        `msgpack:"attempt" json:"attempt"`
		Deadline Instant    `msgpack:"deadline" json:"deadline"`
		At       Instant    `msgpack:"at" json:"at"`
		Engine   string     `msgpack:"engine" json:"engine"`
	}
	// MutationLeftIndeterminate: nothing automatic can find out what happened.
	MutationLeftIndeterminate struct {
		Mutation MutationID `msgpack:"mutation" json:"mutation"`
		Failure  Failure    `msgpack:"failure" json:"failure"`
	}
	// MutationCommented: the person who decided on the call in this transition says why.
	MutationCommented struct {
		Mutation MutationID `msgpack:"mutation" json:"mutation"`
		Comment  string     `msgpack:"comment" json:"comment"`
	}
	// MutationContradicted: a late answer differs from the final outcome; nothing changes but
	// that a person must look (F12).
	MutationContradicted struct {
		Mutation MutationID      `msgpack:"mutation" json:"mutation"`
		Outcome  string          `msgpack:"outcome" json:"outcome"` // "applied" or "failed"
		Result   json.RawMessage `msgpack:"result,omitempty" json:"result,omitempty"`
		Failure  *Failure        `msgpack:"failure,omitempty" json:"failure,omitempty"`
	}
)

// needs: version 2 added OverAt, version 3 Reconciles.
func (f *MutationReconcileScheduled) needs() int {
	switch {
	case f.Reconciles:
		return 3
	case f.OverAt != 0:
		return 2
	}
	return 1
}

// needsOf: version 2 of what holds a call added ResendMS.
func needsOf(call *MutationCall) int {
	if call.Resends() {
		return 2
	}
	return 1
}

func (f *MutationApprovalRequested) needs() int { return needsOf(&f.Call) }
func (f *MutationRefused) needs() int           { return needsOf(&f.Call) }
func (f *MutationStarted) needs() int           { return needsOf(&f.Call) }

func (*MutationApprovalRequested) FactType() FactType  { return "mutation.approval_requested" }
func (*MutationApproved) FactType() FactType           { return "mutation.approved" }
func (*MutationRefused) FactType() FactType            { return "mutation.refused" }
func (*MutationStarted) FactType() FactType            { return "mutation.started" }
func (*MutationApplied) FactType() FactType            { return "mutation.applied" }
func (*MutationFailed) FactType() FactType             { return "mutation.failed" }
func (*MutationSkipped) FactType() FactType            { return "mutation.skipped" }
func (*MutationReconcileScheduled) FactType() FactType { return "mutation.reconcile_scheduled" }
func (*MutationResent) FactType() FactType             { return "mutation.resent" }
func (*MutationLeftIndeterminate) FactType() FactType  { return "mutation.left_indeterminate" }
func (*MutationCommented) FactType() FactType          { return "mutation.commented" }
func (*MutationContradicted) FactType() FactType       { return "mutation.contradicted" }

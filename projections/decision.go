package projections

import "github.com/pawl-run/pawl/eventlog"

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

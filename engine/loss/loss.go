package loss

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Loss is what was accepted as lost, for Record. Actor, At and Cause are required.
type Loss struct {
	// Actor is the person that accepted it (O10).
	Actor eventlog.Actor
	At    eventlog.Instant
	Cause eventlog.Cause
	// Detail says what is missing, for the record; empty if that is known only from the log.
	Detail string
	// End is true when the newest messages of a partition may be gone without a hole that shows it:
	// then no workflow's past is known to be whole.
	End bool
	// Workflows are known to have lost their newest transitions.
	Workflows []eventlog.WorkflowName
	// Only limits the record to Workflows: the rest was not looked at. Nothing is set aside, and what cannot
	// be followed stays as it is.
	Only bool
	// Store is what the local store has folded before the loss; nil when there is none. It shows what was
	// done in the part that is lost.
	Store *store.Store
	// Report receives the calls that will be given up, before anything is written. If it fails, Record ends
	// and nothing has changed.
	Report func([]GivenUp) error
}

// GivenUp is a mutation call whose records are given up with an accepted loss.
type GivenUp struct {
	Workflow eventlog.WorkflowName
	decide.GivenUpCall
}

// LostPast is what a loss means for one workflow. It is held until a person resumes it.
type LostPast struct {
	// Workflow is empty for messages that belong to none: those were set aside, and nothing is held for them.
	Workflow eventlog.WorkflowName
	// SetAside says what of its past counts no more; nil when only its newest transitions may be missing.
	SetAside *SetAside
	// Skipped events may have been handled; only a redrive that says so brings them back (O11).
	Skipped int
	// Asks is true when its mutations ask for approval from now on.
	Asks bool
	// Broken is true when the log could not remember that: then the workflow stays out of service.
	Broken bool
}

// SetAside is the part of a workflow's past that cannot be followed: from a record on that cannot be
// read or folded, or before which others are missing.
type SetAside struct {
	From        eventlog.Position
	Transitions int
	// Why it cannot be followed.
	Why string
	// Calls are the first few mutation calls in it, as far as it can be read, and MoreCalls counts the others: they may
	// have been sent.
	Calls     []string
	MoreCalls int
}

func (s *SetAside) String() string {
	text := fmt.Sprintf("%d of its transitions, from position %s on, count no more (%s)", s.Transitions, s.From, s.Why)
	if len(s.Calls) > 0 {
		text += "; calls among them: " + strings.Join(s.Calls, ", ")
	}
	if s.MoreCalls > 0 {
		text += fmt.Sprintf(" and %d more", s.MoreCalls)
	}
	return text
}

// lossAccepted is the kind of the transition that ends an acceptance.
const lossAccepted eventlog.FactType = "workflow.loss_accepted"

package explain

import (
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Why explains what a workflow is doing or waiting for.
type Why struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	// Moving is true while something is being done right now; Reason is null then.
	Moving bool           `json:"moving"`
	Reason *decide.Reason `json:"reason" jsonschema:"null while moving"`
	// Since is when it began, null where the facts do not say.
	Since eventlog.Instant `json:"since"`
	// Until is when it ends by itself, null when something must happen first.
	Until eventlog.Instant `json:"until"`
	// Subject names the run, mutation, handler or event it is about.
	Subject *string `json:"subject"`
	Message string  `json:"message"`
	// Commands are what a person can do about it, the most likely one first.
	Commands []string `json:"commands"`
	// Attention is what a person should look at although nothing waits for a person; null for nothing.
	Attention *readmodel.Attention `json:"attention"`

	// NeedsPerson says that only a person lets it go on, or should look: `pawl why` then ends with exit code 3.
	NeedsPerson bool `json:"needsPerson"`

	with  Beside
	parts []part // of which Message and Commands are made
}

// Beside is what an explanation is told beside the state. The zero value knows nothing more.
type Beside struct {
	// Cause is the run that a wait comes from, where memory has let go of it: see [Cause]. A state is not hydrated for
	// that: only its worker may write to copies of it.
	Cause *projections.Run
	// Outlook is what the engine knows of the call of an indeterminate mutation; nil for nothing.
	Outlook func(eventlog.WorkflowName, eventlog.MutationID) engine.Outlook
}

// outlook of a mutation's call. Without an engine that says it, what the log says counts.
func (b Beside) outlook(w eventlog.WorkflowName, m *projections.Mutation) engine.Outlook {
	out := engine.Outlook{}
	if b.Outlook != nil {
		out = b.Outlook(w, m.ID)
	}
	out.Asks = out.Asks || m.Call.Reconciles
	return out
}

// run returns a run that the explanation speaks of, or nil.
func (w *Why) run(s *projections.State, id eventlog.RunID) *projections.Run {
	if cause := w.with.Cause; cause != nil && cause.ID == id {
		return cause
	}
	return s.Run(id)
}

func (w *Why) about(subject string) {
	if subject != "" {
		w.Subject = &subject
	}
}

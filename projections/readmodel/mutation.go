package readmodel

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Mutation is a record of the ledger.
type Mutation struct {
	ID                eventlog.MutationID     `json:"id"`
	Run               eventlog.RunID          `json:"run"`
	Workflow          eventlog.WorkflowName   `json:"workflow"`
	Version           eventlog.Version        `json:"version,omitempty"` // of the script that named the call
	Connector         string                  `json:"connector"`
	Operation         string                  `json:"operation"`
	Params            json.RawMessage         `json:"params"`
	ParamsHash        string                  `json:"paramsHash"`
	UITitle           *string                 `json:"uiTitle"`
	Status            eventlog.MutationStatus `json:"status"`
	Result            json.RawMessage         `json:"result"`
	Error             *Failure                `json:"error"`
	ResolvedBy        *string                 `json:"resolvedBy"`
	ReconcileAttempts int                     `json:"reconcileAttempts"`
	// RequestedAt is when the run asked for it.
	RequestedAt eventlog.Instant `json:"requestedAt"`
	// StartedAt is when the request was allowed to leave, null while it awaits approval.
	StartedAt eventlog.Instant `json:"startedAt"`
	SettledAt eventlog.Instant `json:"settledAt"`
	// IdempotencyKey is the key that the other side was given with the call, empty before the call has left.
	IdempotencyKey string `json:"idempotencyKey,omitempty" jsonschema:"the key that the other side was given with the call; absent before the call has left"`
	// Deadline is until when Pawl waits for the answer to the latest sending of the call, 0 before the call has left. The
	// other side may still be at work on it a little longer.
	Deadline eventlog.Instant `json:"deadline,omitempty" jsonschema:"until when Pawl waits for the answer to the latest sending of the call; the other side may be at work on it a little longer; absent before the call has left"`
	// Resends says that its host is not asked what became of the call: the same call is sent again to find out (F5).
	Resends bool `json:"resends,omitempty" jsonschema:"to find out what became of the call, the same call is sent again with the same key; otherwise its connector is asked, and nothing is sent"`
	// Comment is what the person who decided on it last has said, null for nothing.
	Comment *Comment `json:"comment"`
	// Decision is the latest that a person or client has taken on it, null for none.
	Decision *Decision `json:"decision"`
	// Events are those that its run was about, at most the first ten; EventCount is how many there are.
	Events     []RunEvent `json:"events"`
	EventCount int        `json:"eventCount"`
}

// Comment is what a person has said with a decision.
type Comment struct {
	Text string           `json:"text"`
	By   eventlog.Actor   `json:"by"`
	At   eventlog.Instant `json:"at"`
}

// Decision is what a person or client has decided on a mutation or an event (O10).
type Decision struct {
	What projections.DecisionKind `json:"what"`
	By   eventlog.Actor           `json:"by"`
	At   eventlog.Instant         `json:"at"`
}

func decisionView(d *projections.Decision) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{d.What, d.By, d.At}
}

func (m Mutation) bulk() int {
	bulk := len(m.Params) + len(m.Result) + bulkOf(m.Events)
	if m.UITitle != nil {
		bulk += len(*m.UITitle)
	}
	return bulk
}

// mutationView renders a mutation with the events that its run was about.
func (v *view) mutationView(w eventlog.WorkflowName, m *projections.Mutation) (Mutation, error) {
	rows, err := v.Get(w, []projections.Key{projections.RunKey(m.Run)})
	if err != nil {
		return Mutation{}, err
	}
	var about Run
	for _, row := range rows {
		if run, ok := row.(*projections.Run); ok {
			if about, err = v.runView(w, run); err != nil {
				return Mutation{}, err
			}
		}
	}
	return MutationView(w, m, about), nil
}

// MutationView renders a mutation of a run, also one that comes from memory or from a fold of the past.
func MutationView(w eventlog.WorkflowName, m *projections.Mutation, of Run) Mutation {
	var comment *Comment
	if m.Comment != nil {
		comment = &Comment{m.Comment.Text, m.Comment.By, m.Comment.At}
	}
	return Mutation{
		ID: m.ID, Run: m.Run, Workflow: w, Version: of.Version, Connector: m.Call.Connector, Operation: m.Call.Operation,
		Params: raw(m.Call.Params), ParamsHash: m.Call.ParamsHash, UITitle: optional(m.Call.UITitle), Status: m.Status,
		Result: raw(m.Result), Error: failureView(m.Failure), ResolvedBy: optional(m.ResolvedBy),
		ReconcileAttempts: m.ReconcileAttempts, RequestedAt: m.RequestedAt, StartedAt: m.StartedAt, SettledAt: m.SettledAt,
		IdempotencyKey: m.Key, Deadline: m.Deadline, Resends: m.Call.Resends(),
		Comment: comment, Decision: decisionView(m.Decision), Events: listed(of.Events), EventCount: of.EventCount,
	}
}

// Mutations lists the ledger; the filters status, held (what it waits for) and versions apply.
func (r *Reader) Mutations(ctx context.Context, o ListOptions) (Page[Mutation], error) {
	return list(ctx, r, projections.KindMutation, o,
		func(v *view, w eventlog.WorkflowName, m *projections.Mutation) (row, func() (Mutation, error), error) {
			return row{
				status: string(m.Status), held: string(heldFor(m)), at: m.RequestedAt,
				text: append(failureText(m.Failure), m.Call.UITitle, searchableID(m.ID, o.Q), searchableID(m.Run, o.Q),
					m.Call.Connector+"."+m.Call.Operation, wholeKey(m, o.Q)),
				events: func() ([]eventlog.EventRef, error) {
					run, err := optionally[projections.Run](v, w, projections.RunKey(m.Run))
					if run == nil {
						return nil, err
					}
					return run.Reserved, nil
				},
				version: func() (eventlog.Version, error) {
					run, err := optionally[projections.Run](v, w, projections.RunKey(m.Run))
					if run == nil {
						return "", err
					}
					return run.Version, nil
				},
			}, func() (Mutation, error) { return v.mutationView(w, m) }, nil
		})
}

// Failed reports whether the mutation has an error of this class and code; empty ones stand for any.
func (m Mutation) Failed(class eventlog.Class, code string) bool { return m.Error.fits(class, code) }

// wholeKey is the idempotency key of a mutation if q is the whole key, otherwise empty. A part of it does not count:
// each key has the workflow's name in it, so a search for that name would find every mutation.
func wholeKey(m *projections.Mutation, q string) string {
	if strings.EqualFold(m.Key, q) {
		return m.Key
	}
	return ""
}

// minIDText is the length in bytes from which a text is looked for in ids that Pawl has made.
const minIDText = 10

// searchableID returns the id if q is long enough to be looked for in it, otherwise nothing. A short text is in many
// ids by chance, and a bulk command acts on all that is found.
func searchableID[ID ~string](id ID, q string) string {
	if len(q) < minIDText {
		return ""
	}
	return string(id)
}

// Mutation returns one mutation, of whatever workflow, or *NotFoundError.
func (r *Reader) Mutation(ctx context.Context, id eventlog.MutationID) (Mutation, error) {
	return answer(ctx, r, func(v *view) (Mutation, error) {
		w, err := v.Owner(id)
		if err != nil {
			return Mutation{}, err
		}
		if w == "" {
			return Mutation{}, &NotFoundError{What: "mutation", ID: string(id)}
		}
		m, err := one[projections.Mutation](v, w, projections.MutationKey(id), "mutation", string(id))
		if err != nil {
			return Mutation{}, err
		}
		return v.mutationView(w, m)
	})
}

// heldFor is the reason for which a mutation keeps its run and its events waiting, empty for none.
func heldFor(m *projections.Mutation) eventlog.HeldReason {
	switch {
	case m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt == 0:
		return eventlog.HeldApproval
	case m.Status == eventlog.MutationStatusNeedsReconcile:
		return eventlog.HeldReconcile
	case m.Status == eventlog.MutationStatusIndeterminate:
		return eventlog.HeldIndeterminate
	}
	return ""
}

// Input is something outside that a workflow took in, with what became of it.
type Input struct {
	ID         eventlog.InputID        `json:"id"`
	Source     string                  `json:"source"`
	Type       string                  `json:"type"`
	ExternalID string                  `json:"externalId"`
	Title      string                  `json:"title"`
	Status     projections.InputStatus `json:"status"`
	Outputs    []eventlog.MutationID   `json:"outputs"`
	// ReceivedAt is when it was taken in.
	ReceivedAt eventlog.Instant `json:"receivedAt"`
	// Workflow is set in lists across workflows.
	Workflow eventlog.WorkflowName `json:"workflow,omitempty"`
}

func (i Input) bulk() int { return len(i.Title) + len(i.ExternalID) }

// InputView renders an input, also one that comes from memory or from a fold of the past.
func InputView(i *projections.Input) Input {
	return Input{
		ID: i.ID, Source: i.Source, Type: i.Type, ExternalID: i.ExternalID, Title: i.Title, Status: i.Status(),
		Outputs: listed(i.Outputs), ReceivedAt: i.At,
	}
}

// Inputs lists inputs; the filter status applies.
func (r *Reader) Inputs(ctx context.Context, o ListOptions) (Page[Input], error) {
	return list(ctx, r, projections.KindInput, o,
		func(_ *view, w eventlog.WorkflowName, i *projections.Input) (row, func() (Input, error), error) {
			seen := row{status: string(i.Status()), at: i.At, text: []string{i.Title, string(i.ID), i.ExternalID}}
			return seen, func() (Input, error) {
				v := InputView(i)
				v.Workflow = o.across(w)
				return v, nil
			}, nil
		})
}

// Input returns one input, or *NotFoundError.
func (r *Reader) Input(ctx context.Context, w eventlog.WorkflowName, id eventlog.InputID) (Input, error) {
	return answer(ctx, r, func(v *view) (Input, error) {
		i, err := one[projections.Input](v, w, projections.InputKey(id), "input", string(id))
		if err != nil {
			return Input{}, err
		}
		return InputView(i), nil
	})
}

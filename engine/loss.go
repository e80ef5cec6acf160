package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// Loss is what was accepted as lost, for RecordLoss. Actor, At, Cause and Detail are required.
type Loss struct {
	// Actor is who accepted it (O10).
	Actor eventlog.Actor
	At    eventlog.Instant
	Cause eventlog.Cause
	// Detail says what is missing, for the record.
	Detail string
	// End is true when the newest messages of a partition may be gone without a hole that shows it:
	// then no workflow's past is known to be whole.
	End bool
	// Workflows are known to have lost their newest transitions.
	Workflows []eventlog.WorkflowName
	// Only limits the record to Workflows: the rest was not looked at. Nothing is set aside, and what cannot
	// be followed stays as it is.
	Only bool
}

// LostPast is what a loss means for one workflow. It is held until a person resumes it.
type LostPast struct {
	Workflow eventlog.WorkflowName
	// SetAside says what of its past counts no more; nil when only its newest transitions may be missing.
	SetAside *SetAside
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
	// Calls are the mutation calls in it, as far as it can be read: they may have been sent.
	Calls []string
}

func (s *SetAside) String() string {
	text := fmt.Sprintf("%d of its transitions, from position %s on, count no more (%s)", s.Transitions, s.From, s.Why)
	if len(s.Calls) > 0 {
		text += "; calls among them: " + strings.Join(s.Calls, ", ")
	}
	return text
}

// RecordLoss writes into the log who accepted a loss, workflow by workflow, and holds every
// workflow whose past is not proven to be whole: proven is one whose revisions and hashes run
// unbroken across every hole, and which can be folded. What follows a break is set aside, so that the
// workflow's past ends before it. It may be repeated; what has its record already is left alone. The
// log must have been opened on the accepted loss, and no engine may run on it.
func RecordLoss(ctx context.Context, log eventlog.Log, loss Loss) ([]LostPast, error) {
	ids := newIDSource(nil)
	var found []LostPast
	for p := range log.Partitions() {
		pasts, err := surveyPasts(ctx, log, p, loss)
		if err != nil {
			return found, err
		}
		kept, err := pasts.setAside(ctx, log, p)
		if err != nil {
			return found, err
		}
		for _, past := range pasts.sorted() {
			unproven := past.unproven || loss.End || past.last.Position.Seq < pasts.lastLost
			if past.aside == nil && (!unproven || past.last.Kind == "workflow.loss_accepted") {
				continue
			}
			if past.aside == nil || kept {
				if err := appendLoss(ctx, log, ids, past, loss); err != nil {
					return found, fmt.Errorf("record the loss on workflow %s: %w", past.name, err)
				}
			}
			found = append(found, LostPast{Workflow: past.name, SetAside: past.aside, Broken: past.aside != nil && !kept})
		}
	}
	return found, nil
}

// appendLoss records the loss at the end of the workflow's past.
func appendLoss(ctx context.Context, log eventlog.Log, ids *idSource, past *past, loss Loss) error {
	detail := loss.Detail
	if past.aside != nil {
		detail = strings.TrimPrefix(detail+"; "+past.aside.String(), "; ")
	}
	t := eventlog.Transition{
		ID: eventlog.TransitionID(ids.next(loss.At.Time())), Workflow: past.name, At: loss.At, Actor: loss.Actor,
		Cause: loss.Cause, Kind: "workflow.loss_accepted",
		Facts: []eventlog.Fact{
			&eventlog.LossAccepted{Detail: detail},
			&eventlog.WorkflowBlocked{Reason: eventlog.BlockLoss, Message: "its newest transitions may be lost: " + detail},
		},
	}
	if past.name == eventlog.Installation {
		// A revocation may be among what is lost, and nobody can hold the installation: no token that
		// was in use opens anything any more.
		t.Facts = t.Facts[:1]
		for _, token := range past.tokens {
			t.Facts = append(t.Facts, &eventlog.TokenRevoked{Name: token.Name})
		}
	}
	if past.awaiting {
		// It may have been approved and sent, unseen: approving it again must be refused (O5).
		t.Facts = append(t.Facts, &eventlog.WorkflowPaused{})
	}
	entry, err := eventlog.NewEntry(t, past.last.Head())
	if err != nil {
		return err
	}
	for {
		_, err := log.Append(ctx, entry)
		if !errors.Is(err, eventlog.ErrUnsettled) || ctx.Err() != nil || errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrClosed) {
			return err
		}
	}
}

// setAside makes the log pass over what cannot be followed. It reports false when the log cannot
// remember so much: then nothing is set aside.
func (s *pasts) setAside(ctx context.Context, log eventlog.Log, partition int) (kept bool, err error) {
	more := slices.Clone(s.foreign)
	for _, past := range s.sorted() {
		if past.aside != nil {
			more = append(more, eventlog.Aside{Workflow: past.name, From: past.aside.From.Seq, To: past.end})
		}
	}
	if len(more) == 0 {
		return true, nil
	}
	keeper, ok := log.(eventlog.LossKeeper)
	if !ok {
		return false, errors.New("this log cannot set anything aside")
	}
	err = keeper.SetAside(ctx, partition, more)
	if errors.Is(err, eventlog.ErrTooLarge) {
		return false, nil
	}
	return err == nil, err
}

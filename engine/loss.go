package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Loss is what a person has accepted as lost, for RecordLoss. Actor, At and Detail are required.
type Loss struct {
	// Actor is who accepted it (O10).
	Actor eventlog.Actor
	At    eventlog.Instant
	// Detail says what is missing, for the record.
	Detail string
	// End is true when the newest messages of a partition may be gone without a hole that shows it:
	// then no workflow's past is known to be whole.
	End bool
}

// LostPast is what a loss means for one workflow.
type LostPast struct {
	Workflow eventlog.WorkflowName
	// Broken is true when transitions in the middle of its past are missing: it cannot be followed
	// any more and stays out of service. Otherwise its newest ones may be missing; it is held until
	// a person resumes it.
	Broken bool
}

// RecordLoss writes into the log who accepted a loss, workflow by workflow, and holds every
// workflow whose past is not proven to be whole: proven is one whose revisions and hashes run
// unbroken across every hole. It may be repeated; what has its record already is left alone. The
// log must have been opened on the accepted loss, and no engine may run on it.
func RecordLoss(ctx context.Context, log eventlog.Log, loss Loss) ([]LostPast, error) {
	ids := newIDSource(nil)
	var found []LostPast
	for p := range log.Partitions() {
		pasts, err := surveyLoss(ctx, log, p)
		if err != nil {
			return found, err
		}
		for _, name := range slices.Sorted(maps.Keys(pasts.all)) {
			past := pasts.all[name]
			unproven := past.broken || loss.End || past.last.Position.Seq < pasts.lastHole
			if !unproven || past.last.Kind == "workflow.loss_accepted" {
				continue
			}
			if err := appendLoss(ctx, log, ids, past, loss); err != nil {
				return found, fmt.Errorf("record the loss on workflow %s: %w", name, err)
			}
			found = append(found, LostPast{Workflow: name, Broken: past.broken})
		}
	}
	return found, nil
}

type lossSurvey struct {
	all map[eventlog.WorkflowName]*lossPast
	// lastHole is where the last hole begins, 0 without one.
	lastHole uint64
}

type lossPast struct {
	last   eventlog.Record
	broken bool
}

// surveyLoss reads a partition: where its holes are, and where each workflow's past ends.
func surveyLoss(ctx context.Context, log eventlog.Log, partition int) (lossSurvey, error) {
	s := lossSurvey{all: map[eventlog.WorkflowName]*lossPast{}}
	end, err := log.Last(ctx, partition)
	if err != nil {
		return s, fmt.Errorf("find the end of the log: %w", err)
	}
	next := uint64(1)
	var chain eventlog.Chain
	for r, err := range log.Read(ctx, partition, 1) {
		if err != nil && !(errors.Is(err, eventlog.ErrUnreadable) && r.Workflow != "") {
			return s, fmt.Errorf("read the log: %w", err)
		}
		if r.Position.Seq > next {
			s.lastHole = next
		}
		next = r.Position.Seq + 1
		past := s.all[r.Workflow]
		if past == nil {
			past = &lossPast{}
			s.all[r.Workflow] = past
		}
		if err != nil {
			// A record that is there and cannot be read is no loss: its workflow stops by itself, and
			// nothing can be appended to a past whose end is not known.
			delete(s.all, r.Workflow)
			continue
		}
		past.last, past.broken = r, past.broken || chain.Check(r) != nil
	}
	if end >= next {
		s.lastHole = next
	}
	return s, nil
}

// appendLoss records the loss at the end of the workflow's past.
func appendLoss(ctx context.Context, log eventlog.Log, ids *idSource, past *lossPast, loss Loss) error {
	name := past.last.Workflow
	t := eventlog.Transition{
		ID: eventlog.TransitionID(ids.next(loss.At.Time())), Workflow: name, At: loss.At, Actor: loss.Actor,
		Cause: eventlog.Cause{Kind: "api", ID: "acceptLoss"}, Kind: "workflow.loss_accepted",
		Facts: []eventlog.Fact{
			&eventlog.LossAccepted{Detail: loss.Detail},
			&eventlog.WorkflowBlocked{Reason: eventlog.BlockLoss, Message: "what is newest of its past may be lost: " + loss.Detail},
		},
	}
	if !past.broken {
		awaiting, err := awaitsApproval(ctx, log, name)
		if err != nil {
			return err
		}
		if awaiting {
			// It may have been approved and sent, unseen: approving it again must be refused (O5).
			t.Facts = append(t.Facts, &eventlog.WorkflowPaused{})
		}
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

func awaitsApproval(ctx context.Context, log eventlog.Log, name eventlog.WorkflowName) (bool, error) {
	state := projections.State{}
	for r, err := range log.ReadWorkflow(ctx, name, 1) {
		if err != nil {
			return false, fmt.Errorf("read the past of %s: %w", name, err)
		}
		if state, err = projections.Apply(state, r); err != nil {
			return false, err
		}
	}
	run := state.CurrentRun()
	return run != nil && run.Status == eventlog.RunPausedApproval, nil
}

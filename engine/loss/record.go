package loss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/ids"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Record writes into the log that an actor accepted a loss, workflow by workflow, and holds every workflow whose
// past is not proven to be whole: proven is one whose revisions and hashes run unbroken across every hole, and which
// can be folded. Records after a break are set aside, so that the workflow's past ends before it. It may be
// repeated; what has its record already is left alone. The log must have been opened on the accepted loss, and no
// engine may run on it. It fails when the log or the store cannot be read, when the log does not take a record, and
// with the error of Report; what was recorded before stays.
func Record(ctx context.Context, log eventlog.Log, loss Loss) ([]LostPast, error) {
	var found []LostPast
	all := make([]*pasts, log.Partitions())
	var calls []GivenUp
	for p := range all {
		var err error
		if all[p], err = surveyPasts(ctx, log, p, loss); err != nil {
			return found, err
		}
		if err := all[p].learn(ctx, log, p, loss); err != nil {
			return found, err
		}
		calls = append(calls, all[p].calls(loss)...)
	}
	if loss.Report != nil {
		if err := loss.Report(calls); err != nil {
			return found, err
		}
	}
	for p, pasts := range all {
		kept, err := pasts.setAside(ctx, log, p)
		if err != nil {
			return found, err
		}
		if n := len(pasts.foreign); n > 0 {
			from := eventlog.Position{Partition: p, Seq: pasts.foreign[0].From}
			aside := &SetAside{From: from, Transitions: n, Why: "no workflow wrote them"}
			found = append(found, LostPast{SetAside: aside, Broken: !kept[""]})
		}
		for _, past := range pasts.sorted() {
			if !pasts.concerned(past, loss) {
				continue
			}
			lost := LostPast{Workflow: past.name, SetAside: past.aside, Broken: past.aside != nil && !kept[past.name]}
			if !lost.Broken {
				if err := appendLoss(ctx, log, past, loss, &lost); err != nil {
					return found, fmt.Errorf("record the loss on workflow %s: %w", past.name, err)
				}
			}
			found = append(found, lost)
		}
		if keeper, ok := log.(eventlog.LossKeeper); ok && !loss.Only {
			if err := keeper.Recorded(ctx, p, pasts.namesLost); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// maxGivenUp bounds the events and calls of one transition of an acceptance, and maxGivenUpBytes what they hold.
const (
	maxGivenUp      = 1000
	maxGivenUpBytes = 512 << 10
)

// appendLoss records the loss at the end of the workflow's past, in as many transitions as that takes, and counts
// in lost what they end.
func appendLoss(ctx context.Context, log eventlog.Log, past *past, loss Loss, lost *LostPast) error {
	command := decide.AcceptLoss{
		Detail: past.detail(loss), Remains: &past.remains, Kept: loss.Only, Max: maxGivenUp, MaxBytes: maxGivenUpBytes,
	}
	env := decide.Env{
		Now: loss.At, Policies: schedule.Default(), Standstill: decide.EngineStandstill, Actor: loss.Actor, Cause: loss.Cause,
	}
	for {
		decision, err := decide.Decide(past.state, past.name, env, command)
		if err != nil {
			return err
		}
		record, err := appendTransition(ctx, log, decision.Transition(past.name, env), past.state.Head, past.last.Head())
		if err != nil {
			return err
		}
		if past.state, err = projections.Apply(past.state, &record); err != nil {
			return err
		}
		for _, fact := range decision.Facts {
			if f, ok := fact.(*eventlog.EventGivenUp); ok && f.Status == eventlog.EventStatusSkipped {
				lost.Skipped++
			}
		}
		lost.Asks = slices.Contains(slices.Collect(maps.Values(past.state.Grants)), eventlog.GrantAsk)
		if past.last = record; record.Kind == lossAccepted {
			return nil
		}
	}
}

// appendTransition appends until it is known whether it is written.
func appendTransition(
	ctx context.Context, log eventlog.Log, t eventlog.Transition, state, head eventlog.Head,
) (eventlog.Record, error) {
	if state.Revision != head.Revision {
		return eventlog.Record{}, fmt.Errorf(
			"defect: the state is at revision %d, the log at %d", state.Revision, head.Revision)
	}
	t.ID = eventlog.TransitionID(ids.New(nil).Next(t.At.Time()))
	entry, err := eventlog.NewEntry(t, head)
	if err != nil {
		return eventlog.Record{}, err
	}
	for {
		written, err := log.Append(ctx, entry)
		if errors.Is(err, eventlog.ErrUnconfirmed) && ctx.Err() == nil &&
			!errors.Is(err, eventlog.ErrFull) && !errors.Is(err, eventlog.ErrClosed) {
			continue
		}
		if err != nil {
			return eventlog.Record{}, err
		}
		t.Revision, t.Prev = entry.Expected.Revision+1, entry.Expected.Hash
		at := eventlog.Position{Partition: log.PartitionOf(t.Workflow), Seq: written.Seq}
		return eventlog.Record{Position: at, Hash: entry.Hash(), Size: len(entry.Stored), Transition: t}, nil
	}
}

// setAside makes the log pass over what cannot be followed, as far as the log can remember it, and says of
// which workflows it does; for the foreign messages, under the empty name, only if it passes over all of them.
func (s *pasts) setAside(
	ctx context.Context, log eventlog.Log, partition int,
) (kept map[eventlog.WorkflowName]bool, err error) {
	more := slices.Clone(s.foreign)
	kept = map[eventlog.WorkflowName]bool{}
	for _, past := range s.sorted() {
		if past.aside != nil {
			more = append(more, eventlog.Aside{Workflow: past.name, From: past.aside.From.Seq, To: past.end})
		}
	}
	if len(more) == 0 {
		return kept, nil
	}
	keeper, ok := log.(eventlog.LossKeeper)
	if !ok {
		return nil, errors.New("this log cannot set anything aside")
	}
	n, err := keeper.SetAside(ctx, partition, more)
	foreign := len(s.foreign)
	kept[""] = n >= foreign
	for _, aside := range more[min(n, foreign):n] {
		kept[aside.Workflow] = true
	}
	if errors.Is(err, eventlog.ErrTooLarge) {
		return kept, nil
	}
	return kept, err
}

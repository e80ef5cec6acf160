package loss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/ids"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
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

// Record writes into the log that an actor accepted a loss, workflow by workflow, and holds every
// workflow whose past is not proven to be whole: proven is one whose revisions and hashes run
// unbroken across every hole, and which can be folded. Records after a break are set aside, so that the
// workflow's past ends before it. It may be repeated; what has its record already is left alone. The
// log must have been opened on the accepted loss, and no engine may run on it.
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

// mostGivenUp bounds the events and calls of one transition of an acceptance, and mostGivenUpBytes what they hold.
const (
	mostGivenUp      = 1000
	mostGivenUpBytes = 512 << 10
)

// appendLoss records the loss at the end of the workflow's past, in as many transitions as that takes, and counts
// in lost what they end.
func appendLoss(ctx context.Context, log eventlog.Log, past *past, loss Loss, lost *LostPast) error {
	command := decide.AcceptLoss{
		Detail: past.detail(loss), Remains: &past.remains, Kept: loss.Only, Most: mostGivenUp, MostBytes: mostGivenUpBytes,
	}
	env := decide.Env{
		Now: loss.At, Policies: schedule.Default(), Hold: decide.HeldByEngine, Actor: loss.Actor, Cause: loss.Cause,
	}
	for {
		decision, err := decide.Decide(past.state, past.name, env, decide.Known{}, command)
		if err != nil {
			return err
		}
		record, err := appendTransition(ctx, log, decision.Transition(past.name, env), past.state.Head, past.last.Head())
		if err != nil {
			return err
		}
		if past.state, err = projections.Apply(past.state, record); err != nil {
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

// detail says what is missing. An acceptance that goes on with an interrupted one may not find that any more.
func (p *past) detail(loss Loss) string {
	var known []string
	if loss.Detail != "" {
		known = append(known, loss.Detail)
	}
	if p.aside != nil {
		known = append(known, p.aside.String())
	}
	if before := p.unended(); len(before) > 0 {
		var ranges []string
		for _, aside := range before {
			ranges = append(ranges, fmt.Sprintf("%d to %d", aside.From, aside.To))
		}
		known = append(known, "its messages "+strings.Join(ranges, ", ")+" were set aside by an earlier acceptance")
	}
	if len(known) == 0 {
		return "the acceptance was interrupted, and what was missing is not known any more"
	}
	return strings.Join(known, "; ")
}

// lossAccepted is the kind of the transition that ends an acceptance.
const lossAccepted eventlog.FactType = "workflow.loss_accepted"

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

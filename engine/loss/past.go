package loss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// pasts is what the log of a partition holds of its workflows, as far as a loss is concerned.
type pasts struct {
	all map[eventlog.WorkflowName]*past
	// lastLost is where the last missing range begins, 0 when there is none. lastUnattributed is where the last one begins
	// that may hold messages of any workflow.
	lastLost, lastUnattributed uint64
	// namesLost: workflows may be lost of which nothing is left, and the local store does not know all names.
	namesLost bool
	// foreign are messages that belong to no workflow and are not set aside yet.
	foreign []eventlog.Aside
}

// past is a workflow's past up to where it can be followed.
type past struct {
	name eventlog.WorkflowName
	last eventlog.Record // without its facts; the zero one when nothing can be followed
	// proven is last, unless an acceptance was interrupted: then it is what stands before its first part. parts are
	// the sequences of those that it has written.
	proven eventlog.Record
	parts  []uint64
	// before was set aside by earlier acceptances. accepted is the sequence of the last record that ends one: what was
	// set aside behind it was not accepted to the end.
	before   []eventlog.Aside
	accepted uint64
	end      uint64 // the sequence of the workflow's last message
	// aside is what cannot be followed; nil when all can.
	aside *SetAside
	// state is the state at its end, with all of the workflow's history.
	state *projections.State
	// remains is what is known of the part that is given up.
	remains decide.Remains
	// whole: the local store shows that nothing of it is missing.
	whole bool
	// foreign lists its messages while none of them can be read: the name may then not be a workflow.
	foreign []eventlog.Aside
	read    bool
	// unproven: it is known that its newest transitions are gone.
	unproven bool
}

func (s *pasts) of(name eventlog.WorkflowName) *past {
	if s.all[name] == nil {
		s.all[name] = &past{name: name, state: new(projections.State)}
	}
	return s.all[name]
}

func (s *pasts) sorted() []*past {
	all := make([]*past, 0, len(s.all))
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		all = append(all, s.all[name])
	}
	return all
}

// surveyPasts reads a partition, and folds each workflow of it that the loss may concern.
func surveyPasts(ctx context.Context, log eventlog.Log, partition int, loss Loss) (*pasts, error) {
	s := &pasts{all: map[eventlog.WorkflowName]*past{}}
	var chain eventlog.Chain
	for r, err := range log.Read(ctx, partition, 1) {
		switch {
		case err == nil:
			past := s.of(r.Workflow)
			past.read, past.foreign = true, nil
			past.saw(r, chain.Check(r))
		case errors.Is(err, eventlog.ErrUnreadable) && r.Workflow == "":
			s.foreign = append(s.foreign, eventlog.Aside{From: r.Position.Seq, To: r.Position.Seq})
		case errors.Is(err, eventlog.ErrUnreadable):
			past := s.of(r.Workflow)
			past.saw(r, err)
			if !past.read {
				past.foreign = append(past.foreign, eventlog.Aside{From: r.Position.Seq, To: r.Position.Seq})
			}
		default:
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	if keeper, ok := log.(eventlog.LossKeeper); ok {
		var err error
		if lost := keeper.Unrecorded(partition); len(lost) > 0 {
			s.lastLost = lost[len(lost)-1].From
			if s.lastUnattributed, err = lastUnattributed(ctx, log, partition, lost); err != nil {
				return nil, err
			}
		}
		for _, aside := range keeper.Asides(partition) {
			if aside.Workflow != "" {
				past := s.of(aside.Workflow)
				past.before = append(past.before, aside)
				past.unproven = past.unproven || len(past.unended()) > 0
			}
		}
	}
	for _, name := range loss.Workflows {
		if log.PartitionOf(name) == partition {
			s.of(name).unproven = true
		}
	}
	if loss.Only {
		s.foreign, s.lastLost, s.lastUnattributed = nil, 0, 0
		maps.DeleteFunc(s.all, func(name eventlog.WorkflowName, p *past) bool {
			return p.aside != nil || !slices.Contains(loss.Workflows, name)
		})
	}
	for _, past := range s.sorted() {
		if err := past.fold(ctx, log); err != nil {
			return nil, err
		}
		if loss.Only && past.aside != nil {
			delete(s.all, past.name)
		}
		if !s.concerned(past, loss) {
			past.state = new(projections.State) // frees memory: most workflows are not concerned
		}
	}
	return s, nil
}

// concerned reports whether a part of the past may be gone.
func (s *pasts) concerned(p *past, loss Loss) bool {
	unproven := p.unproven || len(p.parts) > 0 || loss.End || p.last.Position.Seq < s.lastUnattributed
	return p.aside != nil || unproven && !p.whole
}

// saw takes in the workflow's next record, and why it cannot follow the others.
func (p *past) saw(r eventlog.Record, wrong error) {
	p.end = r.Position.Seq
	switch {
	case p.aside != nil:
	case wrong != nil:
		p.broke(r.Position, wrong)
	default:
		p.follow(r)
	}
}

// follow takes in the record that continues the past.
func (p *past) follow(r eventlog.Record) {
	r.Facts = nil
	if p.last = r; r.Kind == decide.KindGivenUp {
		p.parts = append(p.parts, r.Position.Seq)
		return
	}
	if p.proven, p.parts = r, nil; r.Kind == lossAccepted {
		p.accepted = r.Position.Seq
	}
}

// unended is what was set aside by acceptances that were interrupted before their record was written.
func (p *past) unended() []eventlog.Aside {
	return slices.DeleteFunc(slices.Clone(p.before), func(a eventlog.Aside) bool { return a.To < p.accepted })
}

// lastKnown is the last message before all that is given up.
func (p *past) lastKnown() uint64 {
	seq := p.proven.Position.Seq
	for _, aside := range p.unended() {
		seq = min(seq, aside.From-1)
	}
	return seq
}

func (p *past) broke(at eventlog.Position, why error) {
	p.aside = &SetAside{From: at, Why: why.Error()}
}

// maxCalls bounds how many calls are named of what is set aside.
const maxCalls = 3

// fold follows the past to its end, or to what cannot be folded, and looks at what stands after a
// break.
func (p *past) fold(ctx context.Context, log eventlog.Log) error {
	state, followed := new(projections.State), past{}
	for r, err := range log.ReadWorkflow(ctx, p.name, 1) {
		if err != nil && !errors.Is(err, eventlog.ErrUnreadable) {
			return fmt.Errorf("read the past of %s: %w", p.name, err)
		}
		if p.aside == nil || r.Position.Seq < p.aside.From.Seq {
			next, broken := projections.Apply(state, &r)
			if broken == nil {
				state = next
				followed.follow(r)
				continue
			}
			p.broke(r.Position, broken)
			p.last, p.proven, p.parts, p.accepted = followed.last, followed.proven, followed.parts, followed.accepted
		}
		p.aside.Transitions++
		for _, fact := range r.Facts {
			m, ok := fact.(*eventlog.MutationStarted)
			again, resent := fact.(*eventlog.MutationResent)
			switch {
			case resent && len(p.aside.Calls) < maxCalls:
				p.aside.Calls = append(p.aside.Calls, fmt.Sprintf("mutation %s, sent again", again.Mutation))
			case !ok && !resent:
			case len(p.aside.Calls) == maxCalls:
				p.aside.MoreCalls++
			default:
				call := fmt.Sprintf("%s.%s (mutation %s)", m.Call.Connector, m.Call.Operation, m.Mutation)
				p.aside.Calls = append(p.aside.Calls, call)
			}
		}
	}
	p.state = state
	return nil
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

package decide

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Command is something to be decided: an outcome that a worker reports, or what a person or the
// outside asks for.
type Command interface {
	decide(*decision) error
	// names lists the history that the decision will look at.
	names(s *projections.State, want func(projections.Key))
}

// Decide carries out the command on the state. Errors: *Refusal, ErrStale, ErrPrepareAgain; any
// other error is a defect and wraps projections.ErrBroken or names missing knowledge.
func Decide(s projections.State, w eventlog.WorkflowName, env Env, known Known, cmd Command) (Decision, error) {
	meta := eventlog.Transition{Workflow: w, At: env.Now, Actor: env.Actor, Cause: env.Cause}
	d := &decision{env: env, known: known, draft: projections.NewDraft(s, meta, s.Head.Seq+1),
		runs: append([]eventlog.RunID{env.Run}, env.Runs...)}
	if err := refuseMisplaced(w, cmd); err != nil {
		return Decision{}, err
	}
	if !s.Exists() {
		switch cmd.(type) {
		case Deploy, CreateToken, RevokeToken, OpenLogin, CloseLogin, ResumeSubscription, AcceptLoss, ConfirmNames,
			Restore:
		case Tick, Recover:
			return Decision{}, nil // a worker may look before the first deploy is recorded
		default:
			return Decision{}, unknownWorkflow(w)
		}
	}
	err := cmd.decide(d)
	if err == nil {
		d.startOwedRun()
		d.beginRuns()
		if _, ok := cmd.(RunNow); ok {
			d.queued()
		}
	}
	// A defect is returned first: the answer may be wrong because history was missing.
	if d.err != nil {
		return Decision{}, fmt.Errorf("decide %T on %s: %w", cmd, w, d.err)
	}
	if err != nil {
		return Decision{}, err
	}
	facts := d.draft.Facts()
	if d.kind == "" && len(facts) > 0 {
		d.kind = facts[0].FactType()
	}
	return Decision{Kind: d.kind, Facts: facts, Warnings: d.warnings, Pushed: d.pushed, Bulk: d.bulk, Queued: d.queue}, nil
}

// Names lists the entities that the command's decision looks at and that are neither in memory
// nor known. Hydrate what exists, add all to known, and ask again until it names none.
func Names(s *projections.State, known Known, cmd Command) []projections.Key {
	var keys []projections.Key
	var seen map[projections.Key]bool // made for the first key: most commands find all they look at in memory
	add := func(k projections.Key) {
		if known[k] || seen[k] {
			return
		}
		if seen == nil {
			seen = map[projections.Key]bool{}
		}
		seen[k] = true
		keys = append(keys, k)
	}
	want := func(k projections.Key) {
		if !s.Has(k) {
			add(k)
		}
		if e, ok := s.Entity(k).(*projections.TopicEvent); ok {
			for _, id := range e.CausedBy {
				if in := projections.InputKey(id); s.Entity(in) == nil {
					add(in)
				}
			}
		}
	}
	cmd.names(s, want)
	// Whatever becomes of a run that holds events also counts for the inputs they came from.
	for _, run := range []*projections.Run{s.CurrentRun(), s.RetryRun()} {
		for _, e := range s.ReservedBy(run) {
			want(projections.EventKey(e.Topic, e.MessageID))
		}
	}
	namesOfConcurrent(s, cmd, want)
	namesOfDeadLetters(s, cmd, want)
	return keys
}

// namesOfConcurrent lists what a decision may look at of concurrent consumers: the events of the runs that the command
// is about or that may come back, and those that are paged out and may begin.
func namesOfConcurrent(s *projections.State, cmd Command, want func(projections.Key)) {
	event := func(run *projections.Run) {
		if run != nil && run.Event != nil {
			want(projections.EventKey(run.Event.Topic, run.Event.MessageID))
		}
	}
	runs := runsOf(s, cmd)
	for _, run := range runs {
		event(run)
	}
	_, resumes := cmd.(Resume)
	for _, c := range s.Definition().Consumers {
		if !c.Concurrent() {
			continue
		}
		mayEndProbing := resumes || len(runs) > 0
		for range s.Returning(c.Name) {
			mayEndProbing = true
			break
		}
		if h := s.Handler(c.Name); mayEndProbing && h != nil && h.Probing != nil { // its end makes all back-offs due
			for _, ref := range s.ScheduledFor(c.Name) {
				want(projections.EventKey(ref.Topic, ref.MessageID))
			}
		}
		if h := s.Handler(c.Name); len(runs) > 0 && h != nil && h.Streak != nil { // one more failure may free them
			for _, ref := range h.Streak.Events {
				want(projections.EventKey(ref.Topic, ref.MessageID))
			}
		}
		n := 0
		for run := range s.Returning(c.Name) {
			event(run)
			if n >= c.Concurrency {
				break
			}
			n++
		}
		n = 0
		for from := range s.Offered(c, false, forever) {
			want(projections.PlaceKey(from.Topic, from.Created))
			if n >= c.Concurrency {
				break
			}
			n++
		}
	}
}

// namesOfDeadLetters lists the events that would stand for those that the command may discard.
func namesOfDeadLetters(s *projections.State, cmd Command, want func(projections.Key)) {
	of := func(run *projections.Run, reserved ...eventlog.EventRef) {
		if run == nil || s.Script(run.Version) == nil {
			return
		}
		c, _ := s.Script(run.Version).Definition.Consumer(run.Handler)
		if c.DeadLetter == "" {
			return
		}
		for _, ref := range slices.Concat(run.Reserved, reserved) {
			want(projections.EventKey(c.DeadLetter, deadLetterID(run.ID, ref)))
		}
	}
	switch c := cmd.(type) {
	case FinishPrepare:
		of(s.Run(c.Run), c.Prepared.Reservations...)
	case FinishMutate:
		of(s.Run(c.Run))
	case SettleMutation, ResendMutation, Resolve:
		for _, run := range runsOf(s, cmd) {
			of(run)
		}
	}
}

// runsOf lists the runs of concurrent consumers that the command may end or let go on.
func runsOf(s *projections.State, cmd Command) []*projections.Run {
	ofMutation := func(id eventlog.MutationID) []*projections.Run {
		if m := s.Mutation(id); m != nil {
			return []*projections.Run{s.Run(m.Run)}
		}
		return nil
	}
	switch c := cmd.(type) {
	case FinishPrepare:
		return []*projections.Run{s.Run(c.Run)}
	case FinishMutate:
		return []*projections.Run{s.Run(c.Run)}
	case CommitRun:
		return []*projections.Run{s.Run(c.Run)}
	case FailRun:
		return []*projections.Run{s.Run(c.Run)}
	case SettleMutation:
		return ofMutation(c.Mutation)
	case ResendMutation:
		return ofMutation(c.Mutation)
	case Approve:
		return ofMutation(c.Mutation)
	case Reject:
		return ofMutation(c.Mutation)
	case Resolve:
		return ofMutation(c.Mutation)
	case Recover, Archive, AcceptLoss, Resume, Deploy:
		return slices.Collect(s.OpenRuns())
	}
	return nil
}

// refuseMisplaced refuses a command on the installation that is one of workflows, and the reverse: the name of the
// installation is no workflow's, whatever it is asked for.
func refuseMisplaced(w eventlog.WorkflowName, cmd Command) error {
	installation := w == eventlog.Installation
	switch cmd.(type) {
	case Tick, Recover, AcceptLoss, Restore:
		return nil
	case ConfirmNames:
		if installation {
			return nil
		}
		return refuse(Invalid, "names.misplaced", "the names of workflows are the installation's, not those of workflow %s",
			w).
			hint(hint.NamesKnown)
	case CreateToken, RevokeToken, OpenLogin, CloseLogin:
		if installation {
			return nil
		}
		return refuse(Invalid, "token.misplaced", "tokens belong to the installation, not to workflow %s", w).
			hint(hint.TokenForWorkflow, w)
	case ResumeSubscription:
		if installation {
			return nil
		}
		return refuse(Invalid, "subscription.misplaced", "outgoing webhooks belong to the installation, not to workflow %s",
			w).
			hint(hint.Subscriptions)
	}
	if installation {
		return unknownWorkflow(w)
	}
	return nil
}

func unknownWorkflow(w eventlog.WorkflowName) *Refusal {
	return refuse(NotFound, "workflow.unknown", "there is no workflow %q", w).
		hint(hint.Workflows)
}

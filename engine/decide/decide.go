package decide

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Command is something to be decided: an outcome that a runner reports, or what a person or the
// outside asks for.
type Command interface {
	decide(*decision) error
}

// Decide carries out the command on the state. Errors: *Refusal, ErrStale, ErrPrepareAgain, and *projections.Missing
// where the decision looks at history that is not in memory: then read that and decide again. Any other error is a
// defect.
func Decide(s *projections.State, w eventlog.WorkflowName, env Env, cmd Command) (Decision, error) {
	meta := eventlog.Transition{Workflow: w, At: env.Now, Actor: env.Actor, Cause: env.Cause,
		Facts: make([]eventlog.Fact, 0, 8)}
	d := usedDecisions.Get().(*decision)
	defer d.giveBack()
	d.env, d.runs = env, append([]eventlog.RunID{env.Run}, env.Runs...)
	d.draft.Begin(s, meta, s.Head.Seq+1)
	if err := refuseMisplaced(w, cmd); err != nil {
		return Decision{}, err
	}
	if !s.Exists() {
		switch cmd.(type) {
		case Deploy, CreateToken, RevokeToken, OpenLogin, CloseLogin, ResumeSubscription, AcceptLoss, ConfirmNames,
			Restore:
		case Tick, Recover:
			return Decision{}, nil // a runner may look before the first deploy is recorded
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
	// What is missing is returned first, and then a defect: the rest of the answer may be wrong because of it.
	if missing := d.draft.Missing(); missing != nil {
		return Decision{}, missing
	}
	if d.err != nil {
		return Decision{}, fmt.Errorf("decide %T on %s: %w", cmd, w, d.err)
	}
	if err != nil {
		return Decision{}, err
	}
	answer := Decision{Kind: d.kind, Facts: d.draft.Facts(), Warnings: d.warnings, Pushed: d.pushed, Bulk: d.bulk,
		Queued: d.queue}
	if answer.Empty() {
		return answer, nil
	}
	if answer.Kind == "" {
		answer.Kind = answer.Facts[0].FactType()
	}
	if answer.Queued == nil { // Queued.State shares entities with the draft's state, and Folded.Apply changes some
		answer.Folded = d.draft.Take()
	}
	return answer, nil
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
		return refuse(Invalid, "names.misplaced", "lost workflow names are confirmed for the installation, not for "+
			"workflow %s", w).
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

// Lookups lists what the command certainly looks up of the workflow's past, as far as the command alone shows it. The
// caller of Decide reads that first, because a decision that finds it missing has to be made again.
func Lookups(s *projections.State, cmd Command) []projections.Key {
	active := func(id eventlog.RunID) bool {
		run := s.Run(id)
		return run != nil && run.Status == eventlog.RunStatusActive
	}
	switch cmd := cmd.(type) {
	case Push:
		if s.Archived || !s.Definition().HasTopic(cmd.Topic) {
			return nil // it is refused without a look at the past
		}
		keys := make([]projections.Key, 0, 2*len(cmd.Items))
		for _, item := range cmd.Items {
			keys = append(keys, projections.EventKey(cmd.Topic, item.MessageID),
				projections.InputKey(pushInput(cmd.Topic, item).ID()))
		}
		return keys
	case FinishPrepare:
		if cmd.Next != nil && active(cmd.Run) {
			return eventKeys(cmd.Next.Publishes)
		}
	case CommitRun:
		if active(cmd.Run) {
			return eventKeys(cmd.Publishes)
		}
	}
	return nil
}

// eventKeys are the keys of the events that are published.
func eventKeys(publishes []Publish) (keys []projections.Key) {
	for _, p := range publishes {
		for _, topic := range p.Topics {
			keys = append(keys, projections.EventKey(topic, p.MessageID))
		}
	}
	return keys
}

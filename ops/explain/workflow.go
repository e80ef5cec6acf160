package explain

import (
	"fmt"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Workflow renders what the workflow has to do or waits for at that time, as the rules say. It decides nothing itself.
func Workflow(s *projections.State, todo decide.Todo, at decide.Present, with Beside) (w Why) {
	w = Why{Workflow: s.Name, with: with}
	defer w.compose()
	standings := decide.ConsumerStatuses(s, at)
	if wait, ok := todo.(decide.Wait); ok && wait.Reason != decide.ReasonCall {
		if len(standings) > 0 {
			wait = foremost(s, wait, standings, at)
		}
		w.Reason, w.Until = &wait.Reason, wait.Until
		w.about(wait.Subject)
		w.explainWait(s, wait, standings)
		if w.Since != 0 && wait.Reason != decide.ReasonUserPause { // the text of a pause has its time already
			w.add("It has waited since %s.", w.Since)
		}
		w.explainConcurrent(s, standings)
		w.attend(s)
		w.explainUnread(s)
		// A resume ends the system's hold behind a pause as well: a person must know of it before.
		hidden := wait.Reason == decide.ReasonUserPause && (s.Blocked != nil || s.Maintenance != nil)
		w.NeedsPerson = w.NeedsPerson || hidden || wait.Reason.Meaning() == decide.NeedsPerson
		return w
	} else if ok {
		todo = decide.AwaitCall{Mutation: eventlog.MutationID(wait.Subject)}
	}
	w.Moving = true
	w.explainTodo(s, todo)
	w.addPause(s)
	w.explainConcurrent(s, standings)
	w.attend(s)
	return w
}

// attend says what a person should look at although the workflow does not wait for a person.
func (w *Why) attend(s *projections.State) {
	if w.Attention = readmodel.AttentionView(&s.Workflow); w.Attention == nil {
		return
	}
	w.NeedsPerson = true
	if w.Attention.Reason == projections.AttentionTransient {
		w.begin(PartFailing)
		if w.Reason != nil && *w.Reason == decide.ReasonBackoff {
			w.current().of = PartNow // it is about the present backoff
		}
		w.add("It needs attention since %s: it goes on trying by itself, but it has had %s in a row.", w.Attention.Since,
			eventlog.Count(w.Attention.Failures, "transient failure"))
	}
	if s.Counts.Attention > 0 {
		w.begin(PartFailing)
		w.add("%s so often since %s that a person should look; it goes on trying by itself.",
			ofItsEvents(s.Counts.Attention, "has failed", "have failed"), s.Counts.AttentionSince)
		w.offer("pawl jobs list --workflow %s --state retryable", s.Name)
	}
	if n := s.Counts.Owing; n > 0 {
		w.begin(PartFailing)
		w.add("Next of %s has failed so often since %s that a person should look; it goes on trying by itself.",
			eventlog.Count(n, "run"), s.Counts.OwingSince)
		w.offer("pawl runs list --workflow %s --status paused:transient", s.Name)
	}
	w.attendUndecided(s)
	if n := s.Counts.Discarded; n > 0 {
		w.begin(PartDiscarded)
		what := "a person brings %s back or skips %[1]s"
		if s.Archived {
			what = "a person can skip %s"
		}
		w.add("%s since %s: the attempts are used up, and %s.", ofItsEvents(n, "is discarded", "are discarded"),
			s.Counts.DiscardedSince, fmt.Sprintf(what, number(n, "it", "them")))
		w.offer("pawl jobs list --workflow %s --state discarded", s.Name)
		if !s.Archived {
			w.offer("pawl redrive %s --where state=discarded", s.Name)
		}
		w.offer("pawl skip %s --where state=discarded", s.Name)
	}
}

// Stopped explains a workflow whose log cannot be followed, so that the rules say nothing about it.
func Stopped(name eventlog.WorkflowName, cause error) Why {
	reason := decide.ReasonNoWorker
	return Why{
		Workflow: name, Reason: &reason, Commands: []string{"pawl verify"}, NeedsPerson: true,
		Message: fmt.Sprintf("Workflow %s is out of service: %v. "+
			"Nothing of it runs until its log can be followed again; other workflows go on.", name, cause),
	}
}

// Damaged explains a workflow that begins nothing new because a part of its past is damaged.
func Damaged(name eventlog.WorkflowName, past *engine.DamagedPast) Why {
	reason := decide.ReasonBlocked
	return Why{
		Workflow: name, Reason: &reason, Since: past.Since, NeedsPerson: true,
		Commands:  []string{"pawl verify", "pawl verify --accept-loss"},
		Attention: &readmodel.Attention{Reason: projections.AttentionDamage, Since: past.Since},
		Message: fmt.Sprintf("The system holds workflow %s (damage): %v. "+
			"Nothing new of it begins, events still arrive and wait, and other workflows go on. "+
			"Stop the engine and keep a copy of its data; then put an undamaged copy in its place, or accept the loss: "+
			"that says what it gives up, and does nothing again by itself. The workflow then stays held (loss) until you "+
			"have looked at the other side: pawl resume %s", name, past.Err, name),
	}
}

func (w *Why) explainTodo(s *projections.State, todo decide.Todo) {
	running := func(doing string, id eventlog.RunID) {
		w.about(string(id))
		run := s.CurrentRun()
		if s.Open(id) {
			run = s.Run(id)
		}
		if run == nil {
			w.set("Workflow %s is %s.", s.Name, doing)
			return
		}
		w.Since = run.StartedAt
		w.set("Run %s of %s %s is %s.", run.ID, run.Type, run.Handler, doing)
	}
	switch todo := todo.(type) {
	case decide.StartRun:
		w.about(string(todo.Handler))
		w.set("The %s %s is about to run.", todo.Type, todo.Handler)
		if todo.RetryOf != "" {
			w.set("The %s %s is about to run again: next is still to run for run %s.", todo.Type, todo.Handler, todo.RetryOf)
		}
	case decide.BeginEvent:
		w.about(string(todo.Handler))
		w.set("The consumer %s is about to run.", todo.Handler)
	case decide.CrashRun:
		running("left over from a process that is gone; it is being recorded as crashed", todo.Run)
	case decide.RunProducer:
		running("polling the outside", todo.Run)
	case decide.RunPrepare:
		running("choosing its events (prepare)", todo.Run)
	case decide.RunMutate:
		running("naming its call (mutate)", todo.Run)
	case decide.RunNext:
		running("publishing (next)", todo.Run)
	case decide.AwaitCall:
		w.about(string(todo.Mutation))
		w.set("The call of mutation %s has left and its answer is awaited.", todo.Mutation)
		if m := s.Mutation(todo.Mutation); m != nil {
			w.Since, w.Until = m.StartedAt, m.Deadline
			w.set("%s has left and its answer is awaited, at the latest until %s.", callName(s, m), m.Deadline)
			if m.Resending {
				w.set("%s was sent again with the same key, to find out what became of it (attempt %d), and its answer is "+
					"awaited, at the latest until %s.", callName(s, m), m.ReconcileAttempts, m.Deadline)
			}
		}
	case decide.ReconcileMutation:
		w.about(string(todo.Mutation))
		w.set("The connector is being asked what became of mutation %s; nothing is sent again.", todo.Mutation)
		if m := s.Mutation(todo.Mutation); m != nil {
			w.Since = m.StartedAt
			w.set("The connector is being asked what became of %s; nothing is sent again.", callName(s, m))
			if m.Call.Resends() {
				w.set("It is not known what became of %s; the same call is about to be sent again with the same key.",
					callName(s, m))
			}
		}
	}
}

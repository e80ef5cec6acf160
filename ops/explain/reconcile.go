package explain

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// explainReconcile says how the engine finds out what became of a call, and when (F5).
func (w *Why) explainReconcile(s *projections.State, wait decide.Wait, m *projections.Mutation) {
	w.set("It is not known whether mutation %s was applied; the engine asks its connector again at %s.", wait.Subject,
		wait.Until)
	if m != nil {
		w.Since = m.StartedAt
	}
	switch {
	case m != nil && !m.Call.Reconciles:
		w.set("It is not known whether %s was applied%s, and its connector cannot be asked. Something of its call may be "+
			"under way until %s; after that a person decides. Nothing of this call is sent again, and %s.",
			callName(s, m), because(m.Failure), wait.Until, others(s, m, " until then"))
	case m != nil && m.Call.Resends():
		w.set("It is not known whether %s was applied%s; %s, and %s. Once the attempts are used up, or its host may have "+
			"forgotten the key, a person is asked.",
			callName(s, m), because(m.Failure), resentWhen(m, wait.Until), others(s, m, " until it is known"))
	case m != nil:
		w.set("It is not known whether %s was applied%s; %s. Nothing of this call is sent again, and %s; once the attempts "+
			"are used up, a person is asked.",
			callName(s, m), because(m.Failure), askedWhen(m, wait.Until), others(s, m, " until it is known"))
	}
	w.offer("pawl mutations show %s", wait.Subject)
}

// others says what becomes of other events while the outcome of a call is not known: a concurrent consumer's call holds
// only its own event (C5).
func others(s *projections.State, m *projections.Mutation, until string) string {
	if run := s.Run(m.Run); run != nil && run.Event != nil {
		return "the other events go on"
	}
	if concurrentGoOn(s) {
		return "of the workflow only the concurrent consumers run" + until
	}
	return "nothing else of the workflow runs" + until
}

// concurrentGoOn reports whether concurrent consumers run although a plain handler keeps the others waiting (C8).
func concurrentGoOn(s *projections.State) bool {
	return !s.Archived && s.Pause == nil && slices.ContainsFunc(s.Definition().Consumers, eventlog.Consumer.Concurrent)
}

// askedWhen says when a mutation's connector is asked what became of it, and from when on the answer "not applied"
// is believed.
func askedWhen(m *projections.Mutation, at eventlog.Instant) string {
	switch {
	case m.OverAt > at:
		return fmt.Sprintf("the engine asks its connector at %s and again later; an answer that it was not applied is "+
			"believed only from %s on, when its request can no longer be under way", at, m.OverAt)
	case m.OverAt == at:
		return fmt.Sprintf("the engine asks its connector at %s, when its request can no longer be under way", at)
	}
	tried := ""
	if m.ReconcileAttempts > 0 { // what was asked while the request could be under way is not counted (F5)
		tried = fmt.Sprintf(" (%s so far)", eventlog.Count(m.ReconcileAttempts, "attempt"))
	}
	return fmt.Sprintf("the engine asks its connector again at %s%s", at, tried)
}

// resentWhen says when the same call is sent again to find out what became of it (F5).
func resentWhen(m *projections.Mutation, at eventlog.Instant) string {
	if m.Resending {
		return fmt.Sprintf("the same call was sent again with the same key (attempt %d), which its host is promised to know "+
			"(reconcile.resend), and its answer is awaited until %s", m.ReconcileAttempts, m.Deadline)
	}
	when := ""
	if m.OverAt == at {
		when = ", when nothing of its request can be under way any more"
	}
	tried := ""
	if m.ReconcileAttempts > 0 {
		tried = fmt.Sprintf("; %s so far", eventlog.Count(m.ReconcileAttempts, "attempt"))
	}
	return fmt.Sprintf("the same call is sent again at %s%s, with the same key, which its host is promised to know "+
		"(reconcile.resend%s)", at, when, tried)
}

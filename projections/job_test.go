package projections_test

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// TestJobStates derives each of the six states (J1-J6).
func TestJobStates(t *testing.T) {
	t.Parallel()
	p := deployed(t).published("a")
	check := func(moment string, state projections.JobState, executions, failures, attempts int) {
		t.Helper()
		e := p.event("a")
		if e.Job() != state || e.Executions != executions || e.Failures != failures || len(e.Attempts) != attempts {
			t.Errorf("%s: %s, %d executions, %d failures, %d attempts; want %s, %d, %d, %d",
				moment, e.Job(), e.Executions, e.Failures, len(e.Attempts), state, executions, failures, attempts)
		}
	}
	due := eventlog.Instant(9_000_000_000_000_000)
	check("published", projections.JobAvailable, 0, 0, 0)
	p.reserving("R1", "a")
	check("reserved", projections.JobRunning, 1, 0, 1)
	p.then(&eventlog.RunCrashed{Run: "R1"}, &eventlog.EventReleased{Topic: "in", MessageID: "a", Run: "R1"})
	check("its worker died (J6)", projections.JobAvailable, 1, 0, 1)
	p.reserving("R2", "a").then(failed("R2"), &eventlog.EventRetryScheduled{Topic: "in", MessageID: "a", Run: "R2",
		At: due})
	check("failed (J2)", projections.JobRetryable, 2, 1, 2)
	if e := p.event("a"); e.Visible(due-1) || !e.Visible(due) {
		t.Error("a retryable job must be invisible until it is due, and visible then (J2)")
	}
	p.reserving("R3", "a")
	check("runs again", projections.JobRunning, 3, 1, 3)
	p.then(failed("R3"), &eventlog.EventDiscarded{Topic: "in", MessageID: "a", Run: "R3"})
	check("exhausted", projections.JobDiscarded, 3, 2, 3)
	p.then(&eventlog.EventRedriven{Topic: "in", MessageID: "a"})
	check("redriven: count reset, errors kept (J3)", projections.JobAvailable, 0, 0, 3)
	p.reserving("R4", "a")
	check("first execution again", projections.JobRunning, 1, 0, 4)
	if a := p.event("a").Attempts[3]; a.N != 1 || a.Run != "R4" || a.EndedAt != 0 {
		t.Errorf("attempt after a redrive %+v, want the first, of run R4, open", a)
	}
	for i, want := range []bool{false, true, true, false} {
		if got := p.event("a").Attempts[i].Failure != nil; got != want {
			t.Errorf("attempt %d has an error: %v, want %v", i, got, want)
		}
	}
	p.then(&eventlog.EventConsumed{Topic: "in", MessageID: "a", Run: "R4"})
	check("consumed", projections.JobCompleted, 1, 0, 4)
	p.published("b").then(&eventlog.EventSkipped{Topic: "in", MessageID: "b"})
	if got := p.event("b").Job(); got != projections.JobCancelled {
		t.Errorf("a skipped event's job is %s (J4)", got)
	}
}

// TestRetryMovesReservationsWithoutAnAttempt is R15 and J2.
func TestRetryMovesReservationsWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	p := deployed(t).published("a").reserving("R", "a")
	p.then(&eventlog.MutationStarted{Mutation: "R", Run: "R"})
	p.then(&eventlog.MutationApplied{Mutation: "R", Run: "R"},
		&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhaseMutated},
		&eventlog.RunAdvanced{Run: "R", Phase: eventlog.PhaseEmitting})
	p.then(failed("R"), &eventlog.RetryOwed{Run: "R"})
	retry := startOf("R2", p.State.Session)
	retry.RetryOf, retry.Phase = "R", eventlog.PhaseEmitting
	p.then(retry, &eventlog.EventTransferred{Topic: "in", MessageID: "a", Run: "R2"}, &eventlog.RetryCleared{Run: "R"})
	e, run := p.event("a"), p.State.Run("R2")
	if e.ReservedBy != "R2" || e.Executions != 1 || len(e.Attempts) != 1 || e.Attempts[0].Run != "R" {
		t.Errorf("after the move: %+v", e)
	}
	if run.Mutation != "R" || run.Outcome != projections.OutcomeSuccess || string(run.PrepareResult) != `{}` {
		t.Errorf("the retry does not see what its chain did: %+v", run)
	}
	if reserved := p.State.ReservedBy(run); len(reserved) != 1 || ref(reserved[0].MessageID) != ref("a") {
		t.Errorf("the retry holds %v", reserved)
	}
	if reserved := p.State.ReservedBy(p.State.Run("R")); len(reserved) != 0 {
		t.Errorf("the first run still holds %v", reserved)
	}
}

// TestAttemptsAreBounded: a job that crashes forever must not grow forever (J6).
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	p := deployed(t).published("a")
	for i := range 60 {
		run := eventlog.RunID(fmt.Sprintf("R%d", i))
		p.reserving(run, "a").then(&eventlog.RunCrashed{Run: run}, &eventlog.EventReleased{Topic: "in", MessageID: "a",
			Run: run})
	}
	e := p.event("a")
	if e.Executions != 60 || len(e.Attempts) != 50 || e.Attempts[49].N != 60 {
		t.Errorf("%d executions, %d attempts kept; want 60 and the latest 50", e.Executions, len(e.Attempts))
	}
}

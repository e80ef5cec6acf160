package decide_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Rule C11: a filter that names neither states, statuses nor holds means the jobs that the action changes (J3, J4, O7);
// any other filter means all that fit it.
func TestMeant(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		action decide.EventAction
		job    projections.JobState
		held   eventlog.HeldReason
		meant  bool
	}{
		{decide.ActionSkip, projections.JobRunning, "", true},
		{decide.ActionSkip, projections.JobCompleted, "", false},
		{decide.ActionSkip, projections.JobDiscarded, "", false}, // a person has been asked for it: it is named, or left
		{decide.ActionCancel, projections.JobRetryable, "", true},
		{decide.ActionCancel, projections.JobRunning, "", false},
		{decide.ActionRedrive, projections.JobDiscarded, "", true},
		{decide.ActionRedrive, projections.JobRetryable, "", false},
		{decide.ActionRedrive, projections.JobRetryable, eventlog.HeldPerson, true},
		{decide.ActionRedrive, projections.JobRetryable, eventlog.HeldRepair, true},
		{decide.ActionRedrive, projections.JobRunning, eventlog.HeldApproval, false},
	} {
		if got := test.action.Meant(false, test.job, test.held); got != test.meant {
			t.Errorf("%s of a %s job, held %q: meant %t without a filter by state", test.action, test.job, test.held, got)
		}
		if !test.action.Meant(true, test.job, test.held) {
			t.Errorf("%s of a %s job, held %q: not meant by a filter that names its state", test.action, test.job, test.held)
		}
	}
}

// O11: an event that has ended with more runs than are remembered is redriven only with --including-unknown, whatever
// became of the runs that are remembered.
func TestO11_ManyEndedRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1 grant=ask")
	b.must("push a")
	for n := range 34 {
		run := b.state.OpenRun("in", "a").ID
		b.must(fmt.Sprintf("prepare a run=%s", run), fmt.Sprintf("mutate call run=%s", run))
		b.must(fmt.Sprintf("reject %s", b.state.Run(run).Mutation), fmt.Sprintf("next run=%s", run))
		err := b.command("redrive a")
		var no *decide.Refusal
		if refused := errors.As(err, &no); refused != (n > 32) {
			t.Fatalf("after %d rejected calls the redrive ends with %v", n+1, err)
		}
	}
}

// O11: where an attempt is forgotten whose call may have had its effect, because later attempts are more than are kept,
// a redrive still needs --including-unknown: of a held event, and of a cancelled one.
func TestO11_AForgottenAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1", "push a", "prepare a run=R1", "mutate call run=R1", "settle failed transient m=R1",
		"settle applied m=R1 by=late_reply", "resume")
	for range 60 {
		b.must(fmt.Sprintf("prepare fail precondition run=%s", b.state.OpenRun("in", "a").ID), "resume")
	}
	b.must(fmt.Sprintf("prepare fail precondition run=%s", b.state.OpenRun("in", "a").ID))
	var no *decide.Refusal
	if err := b.command("redrive a"); !errors.As(err, &no) || no.Code != decide.CodeUnknown {
		t.Errorf("the redrive of the held event ends with %v", err)
	}
	b.must("cancel a")
	if err := b.command("redrive a"); !errors.As(err, &no) || no.Code != decide.CodeUnknown {
		t.Errorf("the redrive of the cancelled event ends with %v", err)
	}
}

// O11: so it is where the late answer comes only after the attempt was forgotten.
func TestO11_ALateAnswerAboutAForgottenAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1", "push a", "prepare a run=R1", "mutate call run=R1", "settle failed precondition m=R1")
	for range 60 {
		b.must("resume")
		b.must(fmt.Sprintf("prepare fail precondition run=%s", b.state.OpenRun("in", "a").ID))
	}
	b.must("settle applied m=R1 by=late_reply")
	var no *decide.Refusal
	if err := b.command("redrive a"); !errors.As(err, &no) || no.Code != decide.CodeUnknown {
		t.Errorf("the redrive ends with %v", err)
	}
}

// O11: runs that made no call are none of those of which the latest are remembered.
func TestO11_ManyRunsWithoutACall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1", "push a")
	for range 34 {
		run := b.state.OpenRun("in", "a").ID
		b.must(fmt.Sprintf("prepare cancel=a run=%s", run), fmt.Sprintf("next run=%s", run), "redrive a")
	}
	if former := b.state.Event("in", "a").Former; len(former) > 0 {
		t.Errorf("%d runs without a call are remembered", len(former))
	}
}

// O11: the refusal names the first events that may have had their effect, so that a person knows where to look.
func TestO11_TheRefusalNamesEvents(t *testing.T) {
	t.Parallel()
	refs := make([]eventlog.EventRef, 5)
	for i := range refs {
		refs[i] = eventlog.EventRef{Topic: "orders", MessageID: eventlog.MessageID(fmt.Sprint("m", i))}
	}
	for _, c := range []struct {
		n     int
		first []eventlog.EventRef
		want  string
	}{
		{1, refs[:1], "1 event has had a call that was applied, or whose outcome is not known: orders m0; redriving it may " +
			"repeat that effect; nothing was redriven"},
		{2, refs[:2], "2 events have had calls that were applied, or whose outcome is not known: orders m0, orders m1; " +
			"redriving them may repeat those effects; nothing was redriven"},
		{7, refs, "7 events have had calls that were applied, or whose outcome is not known: orders m0, orders m1, orders " +
			"m2, orders m3, orders m4, and 2 more; redriving them may repeat those effects; nothing was redriven"},
		{2, nil, "2 events have had calls that were applied, or whose outcome is not known; redriving them may repeat " +
			"those effects; nothing was redriven"}, // an owner of an older version names none
	} {
		if got := decide.RefuseUnknown(c.n, c.first).Message; got != c.want {
			t.Errorf("%d of %d: %q, want %q", len(c.first), c.n, got, c.want)
		}
	}
}

// J4: a cancel that is refused names another way to end the event, if there is one.
func TestJ4_ARefusedCancelNamesAnotherWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		given []string
		want  hint.Hint
		way   string // accepted in this state
	}{
		{"approval", []string{"deploy n=1 grant=ask", "push a", "prepare a run=R1", "mutate call run=R1"},
			hint.Of(hint.SkipInstead, eventlog.WorkflowName("w"), eventlog.Topic("in")), "skip a"},
		{"approval of a plain consumer", []string{"deploy grant=ask", "push a", "prepare a", "mutate call"},
			hint.Of(hint.SkipInstead, eventlog.WorkflowName("w"), eventlog.Topic("in")), "skip a"},
		{"indeterminate", []string{"deploy", "push a", "prepare a", "mutate call noreconcile", "settle uncertain"},
			hint.Of(hint.SettleFirst, eventlog.MutationID("R1")), "skip-mutation R1"},
		{"being found out", []string{"deploy", "push a", "prepare a", "mutate call", "settle uncertain"},
			hint.Of(hint.Outcome, eventlog.MutationID("R1")), ""},
		{"running", []string{"deploy", "push a", "prepare a"}, hint.Of(hint.Jobs, eventlog.WorkflowName("w")), ""},
	} {
		b := newBench(t)
		b.must(c.given...)
		var refusal *decide.Refusal
		if err := b.command("cancel a"); !errors.As(err, &refusal) || !reflect.DeepEqual(refusal.Hint, c.want) {
			t.Errorf("%s: %v, hint %+v", c.name, err, refusal.Hint)
		}
		if c.way != "" {
			b.must(c.way)
		}
	}
}

// O5: an approval of a call that a person has rejected names that person.
func TestO5_ApprovalAfterTheReject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy grant=ask", "push a", "prepare a", "mutate call", "reject R1")
	if err := b.command("approve R1"); err == nil ||
		!strings.Contains(err.Error(), "mutation R1 was rejected by ") {
		t.Error(err)
	}
}

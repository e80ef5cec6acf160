package act

import (
	"strings"
	"testing"
)

// O1-O5: a person who resolves a mutation is told what was done and what happens next.
func TestConsequences(t *testing.T) {
	t.Parallel()
	free := workflowStatus{Name: "order", Status: "active"}
	paused := workflowStatus{Name: "order", Status: "paused", UserPaused: true}
	archived := workflowStatus{Name: "order", Status: "archived", UserPaused: true}
	held := workflowStatus{
		Name: "order", Status: "error", Blocked: &struct{ Reason, Message string }{"contradiction", "it differs"},
	}
	for _, test := range []struct {
		name string
		then consequence
		w    workflowStatus
		want string
	}{
		{"skip", skipped, free, "M is skipped: its events end as skipped, and the workflow goes on without it"},
		{
			"skip under a pause", skipped, paused,
			"M is skipped: its events end as skipped, and the workflow goes on without it once order is " +
				"resumed (pawl resume order)",
		},
		{
			"skip in the archive", skipped, archived,
			"M is skipped: its events end as skipped; order is archived, so nothing of it runs again",
		},
		{"it did not happen", undone, free, "M did not happen: its events are free, and a fresh run with a new " +
			"idempotency key takes them"},
		{
			"it did not happen, under another hold", undone, held,
			"M did not happen: its events are free, and a fresh run with a new idempotency key takes them once order is no " +
				"longer held (pawl why order)",
		},
		{
			"it happened", happened(""), free,
			"M happened, with the result null as none was given, and its run goes on with next",
		},
		{
			"it happened, with a result", happened(`{"id":7}`), paused,
			`M happened, with the result {"id":7}, and its run goes on with next once order is resumed (pawl resume order)`,
		},
		{"asked again", askedAgain, paused, "M is asked about again; nothing is sent"},
		{"sent again to find out", askedAgain.sending(true), free, "M is not asked about: the same call is sent again with " +
			"the same key, which its host is configured to recognise (not while its workflow is paused)"},
		{"skip of such a call", skipped.sending(true), free,
			"M is skipped: its events end as skipped, and the workflow goes on without it"},
		{"approve", approved, paused, "M is approved: it leaves once, exactly as recorded"},
		{
			"reject", rejected, paused,
			"M is rejected: nothing has left, its events end as skipped, and its run goes on without it",
		},
	} {
		if got := test.then.of("M", test.w); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, got, test.want)
		}
	}
}

// O3: a mutation that is only asked about again is not said to be resolved.
func TestO3_AskedAgainIsNotResolved(t *testing.T) {
	t.Parallel()
	for done, c := range map[string]Resolve{"asked again": {AskAgain: true}, "resolved": {Skip: true}} {
		if _, got, _ := c.word(); got != done {
			t.Errorf("%+v: %q, want %q", c, got, done)
		}
	}
}

// O6: a resume does not end the system's hold, and says so.
func TestStandingNamesTheHold(t *testing.T) {
	t.Parallel()
	lost := &struct{ Reason, Message string }{"indeterminate", "not known"}
	for want, w := range map[string]workflowStatus{
		"order is held (indeterminate): not known; more: pawl why order": {Name: "order", Status: "paused",
			Blocked: lost},
		"order is paused, and held (indeterminate): not known; more: pawl why order": {
			Name: "order", Status: "paused", UserPaused: true, Blocked: lost,
		},
		"order is archived, and held (indeterminate): not known; more: pawl why order": {Name: "order", Status: "archived",
			Blocked: lost},
	} {
		if got := w.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// F9, O6: a resume leaves maintenance alone, and says what ends it.
func TestStandingNamesMaintenance(t *testing.T) {
	t.Parallel()
	if got := (workflowStatus{Name: "order", Status: "active"}).String(); got != "order is active" {
		t.Errorf("got %q", got)
	}
	got := workflowStatus{Name: "order", Status: "active", Maintenance: true}.String()
	for _, says := range []string{
		"order is active, but stays in maintenance", "nothing of it runs", "pawl repair order FILE",
		"also unchanged (pawl deploy FILE)",
	} {
		if !strings.Contains(got, says) {
			t.Errorf("%q does not say %q", got, says)
		}
	}
	if got := (workflowStatus{Name: "order", Status: "archived", Maintenance: true}).String(); got != "order is archived" {
		t.Errorf("got %q", got)
	}
}

// C5: a resume says how many events it has not freed.
func TestResumeSaysWhatStaysHeld(t *testing.T) {
	t.Parallel()
	for held, want := range map[int]string{
		0: "order is active",
		1: "order is active; 1 event is still held (pawl why order)",
		7: "order is active; 7 events are still held (pawl why order)",
	} {
		w := resumed{workflowStatus: workflowStatus{Name: "order", Status: "active"}}
		w.Counts.Held = held
		if got := w.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

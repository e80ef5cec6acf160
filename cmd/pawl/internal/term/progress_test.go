package term

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

var began = eventlog.At(time.Date(2026, 10, 26, 8, 0, 0, 0, time.UTC))

// printed feeds transitions of one workflow to a progress and returns its lines without the name.
func printed(t *testing.T, transitions ...[]eventlog.Fact) []string {
	t.Helper()
	var lines []string
	p := NewProgress(func(l ...string) { lines = append(lines, l...) }, false)
	for i, facts := range transitions {
		p.Observe(eventlog.Record{Transition: eventlog.Transition{
			Workflow: "orders", Revision: uint64(i + 1), At: began, Facts: facts, Actor: eventlog.Actor{Name: "ann"},
		}})
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "orders  ")
	}
	return lines
}

func started(handler eventlog.Handler) eventlog.Fact { return &eventlog.RunStarted{Handler: handler} }

func call(connector, operation, params, title string) *eventlog.MutationStarted {
	return &eventlog.MutationStarted{Mutation: "M", Call: eventlog.MutationCall{
		Connector: connector, Operation: operation, Params: json.RawMessage(params), UITitle: title,
	}}
}

func applied(result string) *eventlog.MutationApplied {
	return &eventlog.MutationApplied{Mutation: "M", Result: json.RawMessage(result)}
}

func putOff(event eventlog.MessageID, wait time.Duration) *eventlog.EventRetryScheduled {
	return &eventlog.EventRetryScheduled{Topic: "due", MessageID: event, At: began.Add(wait)}
}

func TestProgress(t *testing.T) {
	type transition = []eventlog.Fact
	tests := []struct {
		name        string
		transitions []transition
		want        []string
	}{
		{"of many events at once, the one that failed is named, what is held, and that the target is to blame",
			[]transition{
				{&eventlog.RunStarted{Run: "R1", Handler: "tell", Event: &eventlog.EventRef{Topic: "due", MessageID: "o-1"}}},
				{&eventlog.RunFailed{Run: "R1", Failure: eventlog.Failure{Message: "boom"}},
					&eventlog.EventHeld{Topic: "due", MessageID: "o-1", Run: "R1", Reason: eventlog.HeldRepair}},
				{&eventlog.RunPrepared{Run: "R1", UITitle: "Tell Ann"}},
				{&eventlog.RunFailed{Run: "R1", Failure: eventlog.Failure{Message: "boom"}},
					&eventlog.EventHeld{Topic: "due", MessageID: "o-1", Run: "R1", Reason: eventlog.HeldIndeterminate},
					&eventlog.HandlerProbeScheduled{Handler: "tell", Attempt: 1, At: began.Add(time.Second)}},
				{&eventlog.HandlerProbeScheduled{Handler: "tell", Attempt: 2, At: began.Add(time.Second)}},
				{&eventlog.HandlerProbingEnded{Handler: "tell"}},
				{&eventlog.HandlerUncertainCounted{Handler: "tell", Mutations: []eventlog.MutationID{"M1", "M2"}}},
				{&eventlog.HandlerUncertainCounted{Handler: "tell", Mutations: []eventlog.MutationID{"M1", "M2", "M3"}}},
			},
			[]string{
				"✗ tell failed (event o-1): boom", "■ event o-1 of due is held for a repair: pawl why orders",
				"✗ tell failed (Tell Ann): boom",
				"↻ tell is tried one run at a time, since several events failed alike; the next in 1s",
				"▶ tell works on many events again",
				"■ tell begins no run any more: the outcome of 3 calls in a row is not known: pawl why orders",
			}},
		{"runs side by side: each change is told by the title of its own run",
			[]transition{
				{&eventlog.RunStarted{Run: "R1", Handler: "tell", Event: &eventlog.EventRef{Topic: "due", MessageID: "o-1"}}},
				{&eventlog.RunStarted{Run: "R2", Handler: "tell", Event: &eventlog.EventRef{Topic: "due", MessageID: "o-2"}}},
				{&eventlog.RunPrepared{Run: "R1"}, &eventlog.MutationStarted{Mutation: "R1", Run: "R1",
					Call: eventlog.MutationCall{Connector: "http", Operation: "post", UITitle: "Tell Ann"}}},
				{&eventlog.RunPrepared{Run: "R2"}, &eventlog.MutationStarted{Mutation: "R2", Run: "R2",
					Call: eventlog.MutationCall{Connector: "http", Operation: "post", UITitle: "Tell Bob"}}},
				{&eventlog.MutationApplied{Mutation: "R1", Run: "R1"}},
				{&eventlog.MutationApplied{Mutation: "R2", Run: "R2"}},
			},
			[]string{"✓ Tell Ann (http.post)", "✓ Tell Bob (http.post)"}},
		{"runs side by side: what is not known of a call is told of its own event or title",
			[]transition{
				{&eventlog.RunStarted{Run: "R1", Handler: "tell", Event: &eventlog.EventRef{Topic: "due", MessageID: "o-1"}}},
				{&eventlog.RunStarted{Run: "R2", Handler: "tell", Event: &eventlog.EventRef{Topic: "due", MessageID: "o-2"}}},
				{&eventlog.MutationStarted{Mutation: "R1", Run: "R1", Call: eventlog.MutationCall{Connector: "http",
					Operation: "post", Reconciles: true}}},
				{&eventlog.RunPrepared{Run: "R2", UITitle: "Tell Bob"}, &eventlog.MutationStarted{Mutation: "R2", Run: "R2",
					Call: eventlog.MutationCall{Connector: "http", Operation: "post"}}},
				{&eventlog.MutationReconcileScheduled{Mutation: "R1", At: began.Add(time.Second)}},
				{&eventlog.MutationReconcileScheduled{Mutation: "R2", At: began.Add(time.Second)}},
				{&eventlog.MutationResent{Mutation: "R1", Attempt: 2}},
				{&eventlog.MutationLeftIndeterminate{Mutation: "R1"}},
			},
			[]string{
				"? http.post (event o-1): no certain answer; asking again in 1s what became of it",
				"? http.post (Tell Bob): no certain answer; a person can decide in 1s, when nothing of the call can be under way " +
					"any more",
				"↻ mutation R1 (event o-1) is sent again with the same key (attempt 2)",
				"✗ it is not known whether mutation R1 (event o-1) happened; look, then: pawl resolve R1 --happened, " +
					"--did-not-happen, --skip or --ask-again",
			}},
		{"a row, named by the script and by its place",
			[]transition{
				{started("record")},
				{call("csv", "appendRow", `{"file":"a.csv","values":{"secret":"x"}}`, "Add row")},
				{applied(`{"row":3}`)}, {&eventlog.EventConsumed{}, &eventlog.RunCommitted{}},
			},
			[]string{"✓ Add row → a.csv row 3"}},
		{"a call of a connector that is not built in",
			[]transition{{started("pay"), call("bank", "pay", `{"iban":"x"}`, "Pay bill 7")}, {applied(`{"id":1}`)}},
			[]string{"✓ Pay bill 7 (bank.pay)"}},
		{"a call without a title",
			[]transition{
				{started("pay"), call("http", "post", `{"url":"https://api.example.com/a?token=x"}`, "")},
				{applied(`{"status":201}`)},
			},
			[]string{"✓ http.post → api.example.com answered 201"}},
		{"a call that happened, as a person says: what it answered is not known",
			[]transition{
				{started("pay"), call("http", "post", `{"url":"https://api.example.com/a"}`, "Pay")},
				{
					&eventlog.MutationApplied{
						Mutation: "M", Result: json.RawMessage("null"), ResolvedBy: eventlog.ResolvedByUserApplied,
					},
				},
			},
			[]string{"✓ Pay → api.example.com, as a person says"}},
		{"a row that is there, as a person says",
			[]transition{
				{started("record"), call("csv", "appendRow", `{"file":"a.csv"}`, "")},
				{
					&eventlog.MutationApplied{
						Mutation: "M", Result: json.RawMessage("null"), ResolvedBy: eventlog.ResolvedByUserApplied,
					},
				},
			},
			[]string{"✓ csv.appendRow → a.csv, as a person says"}},
		{
			"a file",
			[]transition{{call("files", "write", `{"path":"out/b.txt"}`, "")}, {applied(`{}`)}},
			[]string{"✓ files.write → out/b.txt"},
		},
		{
			"a mutation whose start an earlier process recorded", []transition{{applied(`{}`)}},
			[]string{"✓ mutation M was applied"},
		},
		{"a producer that found something",
			[]transition{
				{started("poll")},
				{
					&eventlog.EventPublished{Topic: "a"}, &eventlog.EventPublished{Topic: "b"}, &eventlog.EventPublished{Topic: "a"},
					&eventlog.RunCommitted{},
				},
			},
			[]string{"• poll: 2 new in a, 1 new in b"}},
		{"a producer that found nothing", []transition{{started("poll")}, {&eventlog.RunCommitted{}}}, nil},
		{"a consumer without a call",
			[]transition{
				{started("sort"), &eventlog.RunPrepared{UITitle: "Sort 2"}},
				{&eventlog.EventConsumed{}, &eventlog.EventConsumed{}, &eventlog.RunCommitted{}},
			},
			[]string{"✓ Sort 2 (2 consumed)"}},
		{"a failure with its line",
			[]transition{
				{started("sort")},
				{&eventlog.RunFailed{Failure: eventlog.Failure{Message: "boom", Line: 7}}, &eventlog.MaintenanceEntered{}},
			},
			[]string{"✗ sort failed: boom (line 7)", "■ held until its script is repaired: pawl why orders"}},
		{
			"a backoff",
			[]transition{{&eventlog.BackoffStarted{Attempt: 1, Until: began.Add(2 * time.Second)}}},
			[]string{"↻ trying again in 2s"},
		},
		{"an event that waits for its next attempt",
			[]transition{
				{started("pay"), &eventlog.RunFailed{Failure: eventlog.Failure{Message: "boom"}}, putOff("a", 16*time.Second)},
			},
			[]string{"✗ pay failed: boom", "↻ event a of due is tried again in 16s"}},
		{"several of them", []transition{{putOff("a", time.Second), putOff("b", time.Second), putOff("c", time.Second)}},
			[]string{"↻ event a of due and 2 more are tried again in 1s"}},
		{"a call that did not happen, as a person says",
			[]transition{{&eventlog.MutationFailed{Mutation: "M", ResolvedBy: eventlog.ResolvedByUserFailed}}},
			[]string{"! mutation M did not happen, as a person says"}},
		{"a call that did not happen, as its connector says",
			[]transition{{&eventlog.MutationFailed{Mutation: "M", ResolvedBy: eventlog.ResolvedByReconcile}}},
			[]string{"! mutation M did not happen, as its connector says"}},
		{"an answer that comes after all",
			[]transition{{started("pay"), call("bank", "pay", `{}`, "Pay")},
				{&eventlog.MutationApplied{Mutation: "M", ResolvedBy: eventlog.ResolvedByLateReply}}},
			[]string{"✓ Pay (bank.pay), as its late answer says"}},
		{"an approval",
			[]transition{
				{
					&eventlog.MutationApprovalRequested{
						Mutation: "M", Call: eventlog.MutationCall{Connector: "bank", Operation: "pay"},
					},
					&eventlog.WorkflowBlocked{Reason: eventlog.BlockApproval},
				},
			},
			[]string{"? bank.pay waits for approval: pawl mutations show M, then pawl approve M"}},
		{"an outcome that cannot be asked for",
			[]transition{
				{started("pay"), call("bank", "pay", `{}`, "")},
				{
					&eventlog.RunFailed{Failure: eventlog.Failure{Message: "cut off"}},
					&eventlog.MutationLeftIndeterminate{Mutation: "M"},
					&eventlog.WorkflowBlocked{Reason: eventlog.BlockIndeterminate},
				},
			},
			[]string{
				"✗ pay failed: cut off",
				"✗ it is not known whether mutation M happened; look, then: pawl resolve M --happened, --did-not-happen or --skip",
			}},
		{"an outcome that asking has not found out",
			[]transition{
				{
					&eventlog.MutationLeftIndeterminate{Mutation: "M"}, &eventlog.WorkflowBlocked{Reason: eventlog.BlockIndeterminate},
				},
			},
			[]string{
				"✗ it is not known whether mutation M happened; look, then: pawl resolve M --happened, " +
					"--did-not-happen, --skip or --ask-again",
			}},
		{"an outcome that could be asked about",
			[]transition{
				{&eventlog.MutationStarted{Mutation: "M", Call: eventlog.MutationCall{Reconciles: true}}},
				{
					&eventlog.RunFailed{Failure: eventlog.Failure{Message: "cut off"}},
					&eventlog.MutationLeftIndeterminate{Mutation: "M"},
				},
			},
			[]string{
				"✗  failed: cut off",
				"✗ it is not known whether mutation M happened; look, then: pawl resolve M --happened, " +
					"--did-not-happen, --skip or --ask-again",
			}},
		{
			"a hold",
			[]transition{{&eventlog.WorkflowBlocked{Reason: eventlog.BlockAuth, Message: "wrong password"}}},
			[]string{"■ held (auth): wrong password; more: pawl why orders"},
		},
		{"people", []transition{{&eventlog.WorkflowPaused{}}, {&eventlog.WorkflowResumed{}}, {&eventlog.WorkflowArchived{}}},
			[]string{"■ paused by ann", "▶ resumed by ann", "■ archived by ann"}},
		{"text from outside cannot steer the terminal",
			[]transition{
				{started("r"), call("csv", "appendRow", `{"file":"a.csv"}`, "x\x1b[2J\r\n\u202eevil\u009b31m")},
				{applied(`{"row":1}`)},
			},
			[]string{"✓ x[2J evil31m → a.csv row 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := printed(t, test.transitions...)
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestProgressCounts(t *testing.T) {
	p := NewProgress(func(...string) {}, false)
	for _, facts := range [][]eventlog.Fact{{applied(`{}`)}, {&eventlog.RunFailed{}}, {applied(`{}`)}} {
		p.Observe(eventlog.Record{Transition: eventlog.Transition{Workflow: "w", Facts: facts}})
	}
	if got, want := p.Count().String(), "2 changes made, 1 run failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for c, want := range map[Counts]string{
		{}: "nothing new had to be done", {runs: 3}: "3 runs, no change outside", {runs: 1}: "1 run, no change outside",
		{runs: 3, applied: 1}: "1 change made", {failed: 1}: "no change made, 1 run failed",
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A run counts when something came of it.
func TestProgressCountsRunsThatPublishedOrTookEvents(t *testing.T) {
	p := NewProgress(func(...string) {}, false)
	for _, facts := range [][]eventlog.Fact{
		{started("poll")},
		{&eventlog.EventPublished{Topic: "a"}, &eventlog.RunCommitted{}},
		{started("poll")},
		{&eventlog.RunCommitted{}}, // it found nothing
		{started("sort")},
		{&eventlog.EventConsumed{}, &eventlog.RunCommitted{}},
		{started("drop")},
		{&eventlog.EventSkipped{}, &eventlog.RunCommitted{}},
	} {
		p.Observe(eventlog.Record{Transition: eventlog.Transition{Workflow: "w", Facts: facts}})
	}
	if got, want := p.Count().String(), "3 runs, no change outside"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What the log held when this process opened it is neither told nor counted, in any partition; a run
// that began there and ends here is, by the names that it had there.
func TestProgressTellsWhatHappenedSinceThisProcessBegan(t *testing.T) {
	var lines []string
	p := NewProgress(func(l ...string) { lines = append(lines, l...) }, false)
	p.Before = []uint64{4, 9}
	seq := []uint64{0, 8}
	observe := func(partition int, facts ...eventlog.Fact) {
		seq[partition]++
		p.Observe(eventlog.Record{
			Position: eventlog.Position{Partition: partition, Seq: seq[partition]},
			Transition: eventlog.Transition{
				Workflow: eventlog.WorkflowName([]string{"zero", "one"}[partition]), At: began, Facts: facts,
			},
		})
	}
	observe(1, &eventlog.RunFailed{Failure: eventlog.Failure{Message: "of old"}})
	observe(0, started("record"), call("csv", "appendRow", `{"file":"a.csv"}`, "Add one"))
	observe(0, applied(`{"row":1}`))
	observe(0, &eventlog.EventConsumed{}, &eventlog.RunCommitted{}, started("record"))
	observe(0, call("csv", "appendRow", `{"file":"a.csv"}`, "Add two"))
	if len(lines) > 0 || p.Count() != (Counts{}) {
		t.Fatalf("of the time before it told %q and counted %+v", lines, p.Count())
	}
	observe(0, &eventlog.RunCrashed{})
	observe(0, applied(`{"row":2}`))
	observe(1, &eventlog.RunFailed{Failure: eventlog.Failure{Message: "of now"}})
	want := []string{
		"zero  ! a run was interrupted by the end of the process that ran it; going on", "zero  ✓ Add two → a.csv row 2",
		"one  ✗  failed: of now",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if want := (Counts{applied: 1, failed: 1}); p.Count() != want {
		t.Errorf("counted %+v, want %+v", p.Count(), want)
	}
}

// What a script logs is told with where it comes from, and cannot steer the terminal.
func TestProgressTellsWhatScriptsLog(t *testing.T) {
	var told []string
	p := NewProgress(func(lines ...string) { told = append(told, lines...) }, false)
	for _, line := range []sandbox.LogLine{
		{Level: "info", Text: "took 3 orders", Line: 12}, {Level: "warn", Text: "\x1b[2Jtwo\nlines"},
		{Level: "error", Text: strings.Repeat("x", 2*maxSaid), Line: -1},
	} {
		p.Said("orders", "take", line)
	}
	if len(told) != 3 || told[0] != "orders  › take (line 12): took 3 orders" ||
		told[1] != "orders  › take: [2Jtwo lines" || len(told[2]) > maxSaid+100 || !strings.HasSuffix(told[2], "x…") {
		t.Errorf("%q", told)
	}
	told = nil
	p.Style = true
	p.Said("orders", "take", sandbox.LogLine{Level: "error", Text: "no"})
	if len(told) != 1 || !strings.Contains(told[0], p.Style.Red("›")) {
		t.Errorf("%q", told)
	}
}

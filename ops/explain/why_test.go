package explain

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

func TestWorkflow(t *testing.T) {
	t.Parallel()
	const at, later = eventlog.Instant(1_700_000_000_000_000), eventlog.Instant(1_700_000_060_000_000)
	failure := &eventlog.Failure{Class: eventlog.Transient, Code: "call.timeout", Message: "no answer within 5s."}
	base := func(change func(*projections.State)) *projections.State {
		s := new(projections.State).Hydrate(
			&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 7}},
			&projections.Run{ID: "R1", Handler: "send", Type: eventlog.ConsumerHandler, Status: eventlog.RunStatusActive,
				Mutation: "M1", StartedAt: at, Engine: "E"},
			&projections.Mutation{
				ID: "M1", Run: "R1", Call: eventlog.MutationCall{Connector: "mail", Operation: "send", UITitle: "Send A",
					Reconciles: true},
				Failure: failure, ReconcileAttempts: 2, RequestedAt: at, StartedAt: at, Deadline: later,
			},
		)
		if change != nil {
			change(s)
		}
		return s
	}
	blocked := func(reason eventlog.BlockReason) func(*projections.State) {
		return func(s *projections.State) {
			s.Blocked = &projections.Block{Reason: reason, Message: "mail says no", Run: "R1", Since: at}
		}
	}
	pausedByAda := func(s *projections.State) {
		s.Pause = &projections.Pause{By: eventlog.Actor{Kind: "user", Name: "ada"}, Since: at}
	}
	for name, c := range map[string]struct {
		state    *projections.State
		todo     decide.Todo
		reason   decide.Reason // empty: moving
		since    eventlog.Instant
		until    eventlog.Instant
		subject  string
		says     []string
		commands []string
	}{
		"idle": {base(nil), decide.Wait{Reason: decide.ReasonIdle}, "idle", 0, 0, "",
			[]string{"shop is idle", "no event waits for a consumer."}, nil},
		"scheduled": {base(nil), decide.Wait{Reason: decide.ReasonScheduled, Until: later, Subject: "poll"}, "scheduled", 0,
			later, "poll", []string{"producer poll", "2023-11-14T22:14:20Z"}, []string{"pawl run-now shop"}},
		"wake": {base(nil), decide.Wait{Reason: decide.ReasonWake, Until: later, Subject: "send"}, "wake", 0, later,
			"send", []string{"consumer send"}, nil},
		"backoff": {base(func(s *projections.State) {
			s.Backoff = &projections.Backoff{Attempt: 3, Until: later}
		}), decide.Wait{Reason: decide.ReasonBackoff, Until: later},
			"backoff", 0, later, "", []string{"3 transient failures in a row", "by itself"}, []string{"pawl resume shop"}},
		"asked to": {base(func(s *projections.State) {
			s.Backoff = &projections.Backoff{Until: later}
		}), decide.Wait{Reason: decide.ReasonBackoff, Until: later},
			"backoff", 0, later, "", []string{"backs off as the other side has asked it to; it goes on by itself"},
			[]string{"pawl resume shop"}},
		"one failure": {base(func(s *projections.State) {
			s.Backoff = &projections.Backoff{Attempt: 1, Until: later}
		}), decide.Wait{Reason: decide.ReasonBackoff, Until: later},
			"backoff", 0, later, "", []string{"1 transient failure in"}, []string{"pawl resume shop"}},
		"job backoff": {base(nil), decide.Wait{Reason: decide.ReasonBackoff, Until: later, Subject: "a"}, "backoff", 0, later,
			"a", []string{`event "a"`}, []string{"pawl jobs list --workflow shop --state retryable"}},
		"job backoff of an event": {base(func(s *projections.State) {
			*s = *s.Hydrate(&projections.TopicEvent{Topic: "mail.in", MessageID: "it's", Status: eventlog.EventStatusPending,
				ScheduledAt: later, Failures: 2, Attempts: []projections.Attempt{{Failure: failure}}})
		}), decide.Wait{Reason: decide.ReasonBackoff, Until: later, Subject: "it's"}, "backoff", 0, later, "it's",
			[]string{`event "it's" of topic mail.in`, "attempt 3 after a failure (“no answer within 5s”)"},
			[]string{`pawl jobs show shop mail.in 'it'\''s'`, `pawl cancel shop mail.in 'it'\''s'`,
				"pawl jobs list --workflow shop --state retryable"}},
		"job backoff of an event that is paged out": {base(func(s *projections.State) {
			*s = *s.Hydrate(&projections.Backlog{Topic: "mail.in",
				Scheduled: []projections.ScheduledEvent{{Topic: "mail.in", MessageID: "m", ScheduledAt: later}}})
		}), decide.Wait{Reason: decide.ReasonBackoff, Until: later, Subject: "m"}, "backoff", 0, later, "m",
			[]string{`event "m" of topic mail.in may be tried again`},
			[]string{"pawl jobs show shop mail.in m", "pawl cancel shop mail.in m",
				"pawl jobs list --workflow shop --state retryable"}},
		"user pause": {base(pausedByAda), decide.Wait{Reason: decide.ReasonUserPause}, "userPause", at, 0, "",
			[]string{"was paused by ada at 2023-11-14T22:13:20Z. Events still"},
			[]string{"pawl resume shop", "pawl log --workflow shop"}},
		"user pause over a hold": {base(func(s *projections.State) {
			blocked(eventlog.BlockAuth)(s)
			pausedByAda(s)
		}), decide.Wait{Reason: decide.ReasonUserPause}, "userPause", at, 0, "",
			[]string{"The system holds it too (auth): “mail says no”."},
			[]string{"pawl resume shop", "pawl log --workflow shop"}},
		"approval": {base(nil), decide.Wait{Reason: decide.ReasonApproval, Subject: "M1"}, "approval", at, 0, "M1",
			[]string{"Mutation M1 (mail.send: “Send A”) awaits approval", "nothing has left"},
			[]string{"pawl mutations show M1", "pawl approve M1", "pawl reject M1"}},
		"approval and pause": {base(pausedByAda), decide.Wait{Reason: decide.ReasonApproval, Subject: "M1"}, "approval", at,
			0, "M1",
			[]string{"In addition, it was paused by ada at 2023-11-14T22:13:20Z.", "once the workflow is resumed"},
			[]string{"pawl mutations show M1", "pawl reject M1", "pawl resume shop"}},
		"reconcile, cut off": {base(func(s *projections.State) { s.Mutation("M1").OverAt = later + 60_000_000 }),
			decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at, later, "M1",
			[]string{"asks its connector at 2023-11-14T22:14:20Z and again later",
				"believed only from 2023-11-14T22:15:20Z on, when its request can no longer be under way"},
			[]string{"pawl mutations show M1"}},
		"reconcile, cut off and then over": {base(func(s *projections.State) { s.Mutation("M1").OverAt = later }),
			decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at, later, "M1",
			[]string{"asks its connector at 2023-11-14T22:14:20Z, when its request can no longer be under way"},
			[]string{"pawl mutations show M1"}},
		"resend": {base(func(s *projections.State) { s.Mutation("M1").Call.ResendMS = 1 }),
			decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at, later, "M1",
			[]string{"the same call is sent again at 2023-11-14T22:14:20Z, with the same key", "2 attempts so far",
				"nothing else of the workflow runs until it is known"},
			[]string{"pawl mutations show M1"}},
		"resend, broken off": {base(func(s *projections.State) {
			s.Mutation("M1").Call.ResendMS, s.Mutation("M1").OverAt = 1, later
		}), decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at, later, "M1",
			[]string{"sent again at 2023-11-14T22:14:20Z, when nothing of its request can be under way any more, with the same"},
			[]string{"pawl mutations show M1"}},
		"reconcile": {base(nil), decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at,
			later, "M1",
			[]string{"(“no answer within 5s”)", "2 attempts so far",
				"Nothing of this call is sent again, and nothing else of the workflow runs until"},
			[]string{"pawl mutations show M1"}},
		"reconcile, nothing counted": {base(func(s *projections.State) { s.Mutation("M1").ReconcileAttempts = 0 }),
			decide.Wait{Reason: decide.ReasonReconcile, Until: later, Subject: "M1"}, "reconcileDue", at, later, "M1",
			[]string{"the engine asks its connector again at 2023-11-14T22:14:20Z. Nothing"},
			[]string{"pawl mutations show M1"}},
		"indeterminate": {base(blocked(eventlog.BlockIndeterminate)), decide.Wait{Reason: decide.ReasonIndeterminate,
			Subject: "M1"}, "indeterminate", at, 0, "M1",
			[]string{"it is not known whether it was applied", "asked again",
				"next is given the result that you write behind --happened, as JSON, or null"},
			[]string{"pawl mutations show M1", "pawl resolve M1 --ask-again", "pawl resolve M1 --happened",
				"pawl resolve M1 --did-not-happen", "pawl resolve M1 --skip"}},
		"indeterminate, archived": {base(func(s *projections.State) {
			blocked(eventlog.BlockIndeterminate)(s)
			s.Archived = true
		}), decide.Wait{Reason: decide.ReasonIndeterminate, Subject: "M1"}, "indeterminate", at, 0, "M1",
			[]string{
				"it happened (it is recorded so), that it did not (its events are freed), or skip it (its events are skipped)",
				"archived: nothing of it runs again",
			},
			[]string{"pawl mutations show M1", "pawl resolve M1 --ask-again", "pawl resolve M1 --happened",
				"pawl resolve M1 --did-not-happen", "pawl resolve M1 --skip"}},
		"indeterminate, not in memory": {base(nil), decide.Wait{Reason: decide.ReasonIndeterminate, Subject: "M2"},
			"indeterminate", 0, 0, "M2",
			[]string{"Only a person"}, []string{"pawl mutations show M2", "pawl resolve M2 --happened",
				"pawl resolve M2 --did-not-happen", "pawl resolve M2 --skip"}},
		"maintenance": {base(func(s *projections.State) {
			s.Maintenance, s.RepairFailures = &projections.Maintenance{Run: "R1", Since: at}, 2
		}),
			decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{"needs a repair", "2 failures in a row"}, []string{"pawl runs show shop R1 --evidence",
				"pawl repair shop FILE", "pawl deploy FILE"}},
		"maintenance, beside a concurrent consumer": {base(func(s *projections.State) {
			s.Maintenance = &projections.Maintenance{Run: "R1", Since: at}
			*s = *s.Hydrate(&projections.Script{Version: "1", Definition: eventlog.Definition{Consumers: []eventlog.Consumer{
				{Name: "each", Subscribe: []eventlog.Topic{"in"}, Concurrency: 4},
				{Name: "sum", Subscribe: []eventlog.Topic{"done"}},
			}}})
			s.Version, s.Waiting = "1", []projections.Waiting{{Topic: "in", Events: 9}, {Topic: "done", Events: 2}}
		}), decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{"Its concurrent consumers go on; its producers and its other consumers do not run (2 events wait for " +
				"them) until a repaired or a new script is there"}, []string{"pawl runs show shop R1 --evidence",
				"pawl repair shop FILE", "pawl deploy FILE", "pawl events list --workflow shop --status pending"}},
		"maintenance, for an event": {base(func(s *projections.State) {
			s.Maintenance = &projections.Maintenance{Run: "R1", Since: at}
			s.Run("R1").Reserved = []eventlog.EventRef{{Topic: "in", MessageID: "a"}}
			*s = *s.Hydrate(&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "Order a",
				Status: eventlog.EventStatusPending})
		}), decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{
				`The run was for event "a" (“Order a”) of topic in, which waits again. To go on without it, ` +
					`skip it and deploy the script again, also unchanged`,
			},
			[]string{"pawl runs show shop R1 --evidence", "pawl repair shop FILE", "pawl deploy FILE", "pawl skip shop in a"}},
		"maintenance, nothing chosen": {base(func(s *projections.State) {
			s.Maintenance = &projections.Maintenance{Run: "R1", Since: at}
			s.Waiting = []projections.Waiting{{Topic: "in", Events: 2}}
		}), decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{"It had chosen no event yet, so no event was counted as failed; if one is at fault, skip it and deploy"},
			[]string{"pawl runs show shop R1 --evidence", "pawl repair shop FILE", "pawl deploy FILE",
				"pawl events list --workflow shop --status pending", "pawl events list --workflow shop --topic in"}},
		"maintenance, next is owed": {base(func(s *projections.State) {
			s.Maintenance, s.PendingRetry = &projections.Maintenance{Run: "R1", Since: at}, "R1"
			s.Run("R1").Mutation = ""
		}), decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{"It had nothing to change outside; the repaired script goes on with next."},
			[]string{"pawl runs show shop R1 --evidence", "pawl repair shop FILE", "pawl deploy FILE"}},
		"maintenance, resumed": {base(func(s *projections.State) {
			s.Maintenance = &projections.Maintenance{Run: "R1", Since: at}
		}),
			decide.Wait{Reason: decide.ReasonMaintenance, Subject: "R1"}, "maintenance", at, 0, "R1",
			[]string{"shop failed in run R1 and needs a repair."}, []string{"pawl runs show shop R1 --evidence",
				"pawl repair shop FILE", "pawl deploy FILE"}},
		"blocked, permission": {base(blocked(eventlog.BlockPermission)),
			decide.Wait{Reason: decide.ReasonBlocked, Subject: "R1"}, "blocked", at, 0, "R1",
			[]string{"(permission): “mail says no”.", "Grant what it needs, or let the connector's configuration allow it"},
			[]string{"pawl runs show shop R1", "pawl grants shop", "pawl resume shop"}},
		"blocked, a grant is missing": {base(func(s *projections.State) {
			blocked(eventlog.BlockPermission)(s)
			s.Run("R1").Failure = &eventlog.Failure{Class: eventlog.Permission, Code: "grant.denied", Message: "mail says no"}
		}), decide.Wait{Reason: decide.ReasonBlocked, Subject: "R1"}, "blocked", at, 0, "R1",
			[]string{"send. Grant what it needs, then resume. It has"}, []string{"pawl runs show shop R1", "pawl grants shop",
				"pawl resume shop"}},
		"blocked, a host that is not configured": {base(func(s *projections.State) {
			blocked(eventlog.BlockPermission)(s)
			s.Run("R1").Failure = &eventlog.Failure{Class: eventlog.Permission, Code: "http.host", Message: "mail says no"}
		}), decide.Wait{Reason: decide.ReasonBlocked, Subject: "R1"}, "blocked", at, 0, "R1",
			[]string{"(permission): “mail says no”.",
				"No grant changes that: correct connectors.http.hosts in the engine's configuration, start the engine again, " +
					"then resume."}, []string{"pawl runs show shop R1", "pawl resume shop"}},
		"blocked, a database that is not configured": {base(func(s *projections.State) {
			blocked(eventlog.BlockPermission)(s)
			s.Run("R1").Failure = &eventlog.Failure{Class: eventlog.Permission, Code: "sql.database", Message: "mail says no"}
		}), decide.Wait{Reason: decide.ReasonBlocked, Subject: "R1"}, "blocked", at, 0, "R1",
			[]string{"No grant changes that: correct connectors.sql.databases in the engine's configuration"},
			[]string{"pawl runs show shop R1", "pawl resume shop"}},
		"idle, an event": {base(func(s *projections.State) {
			s.Waiting = []projections.Waiting{{Topic: "in", Events: 1}}
		}), decide.Wait{Reason: decide.ReasonIdle}, "idle", 0, 0, "",
			[]string{"nothing is due and no event waits for a consumer. It goes",
				"1 event waits in topic in, to which no consumer subscribes."},
			[]string{"pawl events list --workflow shop --topic in"}},
		"idle, discarded events": {base(func(s *projections.State) {
			s.Counts.Discarded, s.Counts.DiscardedSince = 2, at
		}), decide.Wait{Reason: decide.ReasonIdle}, "idle", 0, 0, "",
			[]string{"Workflow shop has only discarded events left: nothing else is due. It goes",
				"2 of its events are discarded since"},
			[]string{"pawl jobs list --workflow shop --state discarded", "pawl redrive shop --where state=discarded",
				"pawl skip shop --where state=discarded"}},
		"archived, an event": {base(func(s *projections.State) {
			s.Archived, s.Waiting = true, []projections.Waiting{{Topic: "in", Events: 1}}
		}), decide.Wait{Reason: decide.ReasonArchived}, "archived", 0, 0, "",
			[]string{"1 of its events is pending, and no run will take it: it can stay so, or be cancelled."},
			[]string{"pawl events list --workflow shop --status pending", "pawl cancel shop --where status=pending"}},
		"archived, events": {base(func(s *projections.State) {
			s.Archived, s.Waiting = true, []projections.Waiting{{Topic: "in", Events: 1}, {Topic: "out", Events: 2}}
		}), decide.Wait{Reason: decide.ReasonArchived}, "archived", 0, 0, "",
			[]string{"3 of its events are pending, and no run will take them: they can stay so, or be cancelled."},
			[]string{"pawl events list --workflow shop --status pending", "pawl cancel shop --where status=pending"}},
		"blocked, precondition of two events": {base(func(s *projections.State) {
			blocked(eventlog.BlockPrecondition)(s)
			s.Run("R1").Reserved = []eventlog.EventRef{{Topic: "in", MessageID: "a"}, {Topic: "in", MessageID: "b c"}}
			*s = *s.Hydrate(&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "Order a",
				Status: eventlog.EventStatusPending},
				&projections.TopicEvent{Topic: "in", MessageID: "b c", Title: "b c", Status: eventlog.EventStatusPending})
		}), decide.Wait{Reason: decide.ReasonBlocked}, "blocked", at, 0, "",
			[]string{
				`The run was for event "a" (“Order a”) of topic in and event "b c" of topic in, which wait again. ` +
					`To go on without them, skip them and resume; pawl redrive brings back`,
			},
			[]string{"pawl runs show shop R1", "pawl resume shop", "pawl skip shop in a", "pawl skip shop in 'b c'"}},
		"blocked after the call, one event held": {base(func(s *projections.State) {
			blocked(eventlog.BlockInternal)(s)
			s.PendingRetry, s.Run("R1").Reserved = "R1", []eventlog.EventRef{{Topic: "in", MessageID: "a"},
				{Topic: "in", MessageID: "b"}}
			*s = *s.Hydrate(&projections.TopicEvent{Topic: "in", MessageID: "a", Status: eventlog.EventStatusReserved,
				ReservedBy: "R1"},
				&projections.TopicEvent{Topic: "in", MessageID: "b", Status: eventlog.EventStatusReserved, ReservedBy: "R1",
					SkipRequested: true})
		}), decide.Wait{Reason: decide.ReasonBlocked}, "blocked", at, 0, "",
			[]string{
				`for event "a" of topic in and event "b" of topic in, which wait for its retry. ` +
					`To go on without it, skip it and resume`,
			},
			[]string{"pawl runs show shop R1", "pawl resume shop", "pawl skip shop in a"}},
		"blocked, its event skipped": {base(func(s *projections.State) {
			blocked(eventlog.BlockPrecondition)(s)
			s.Run("R1").Reserved = []eventlog.EventRef{{Topic: "in", MessageID: "a"}}
		}), decide.Wait{Reason: decide.ReasonBlocked}, "blocked", at, 0, "",
			[]string{`The run was for event "a" of topic in. It has waited`},
			[]string{"pawl runs show shop R1", "pawl resume shop"}},
		"blocked, credentials": {base(func(s *projections.State) {
			blocked(eventlog.BlockAuth)(s)
			s.Run("R1").Reserved = []eventlog.EventRef{{Topic: "in", MessageID: "a"}}
		}), decide.Wait{Reason: decide.ReasonBlocked}, "blocked", at, 0, "",
			[]string{"Correct the connector's credentials, then resume.",
				`The run was for event "a" of topic in. It has waited`},
			[]string{"pawl runs show shop R1", "pawl resume shop"}},
		"blocked, permission for an event": {base(func(s *projections.State) {
			blocked(eventlog.BlockPermission)(s)
			s.Run("R1").Reserved = []eventlog.EventRef{{Topic: "in", MessageID: "a"}}
			*s = *s.Hydrate(&projections.TopicEvent{Topic: "in", MessageID: "a", Title: "Order a",
				Status: eventlog.EventStatusPending})
		}), decide.Wait{Reason: decide.ReasonBlocked}, "blocked", at, 0, "",
			[]string{
				`The run was for event "a" (“Order a”) of topic in, which waits again. To go on without it, skip it and resume`,
			},
			[]string{"pawl runs show shop R1", "pawl grants shop", "pawl resume shop", "pawl skip shop in a"}},
		"blocked, logic": {base(blocked(eventlog.BlockLogic)), decide.Wait{Reason: decide.ReasonBlocked}, "blocked",
			at, 0, "", []string{"deploy a corrected script", "run R1 of consumer send", "since 2023-11-14T22:13:20Z"},
			[]string{"pawl runs show shop R1 --evidence", "pawl deploy FILE", "pawl resume shop"}},
		"blocked, contradiction": {base(blocked(eventlog.BlockContradiction)), decide.Wait{Reason: decide.ReasonBlocked},
			"blocked", at, 0, "", []string{"late answer differs"}, []string{"pawl runs show shop R1", "pawl mutations show M1",
				"pawl resume shop"}},
		"storage": {base(nil), decide.Wait{Reason: decide.ReasonStorage}, "storage", 0, 0, "",
			[]string{"storage cannot take"}, []string{"pawl verify"}},
		"no owner": {base(nil), decide.Wait{Reason: decide.ReasonNoOwner}, "noOwner", 0, 0, "",
			[]string{"waits for an owner"}, nil},
		"archived": {base(func(s *projections.State) {
			s.Archived, s.Pause = true, &projections.Pause{}
		}), decide.Wait{Reason: decide.ReasonArchived}, "archived", 0, 0, "", []string{"for good"}, nil},
		"open call": {base(nil), decide.Wait{Reason: decide.ReasonCall, Subject: "M1"}, "", at, later, "M1",
			[]string{"Mutation M1 (mail.send: “Send A”) has left"}, nil},
		"await call": {base(nil), decide.AwaitCall{Mutation: "M1"}, "", at, later, "M1",
			[]string{"its answer is awaited"}, nil},
		"reconciling": {base(nil), decide.ReconcileMutation{Mutation: "M1"}, "", at, 0, "M1",
			[]string{"being asked", "nothing is sent again"}, nil},
		"start": {base(nil), decide.StartRun{Handler: "send", Type: eventlog.ConsumerHandler}, "", 0, 0,
			"send", []string{"consumer send is about to run."}, nil},
		"start of a retry": {base(nil), decide.StartRun{Handler: "send", Type: eventlog.ConsumerHandler, RetryOf: "R0"},
			"", 0, 0, "send", []string{"still to run for run R0"}, nil},
		"crash": {base(running), decide.CrashRun{Run: "R1"}, "", at, 0, "R1",
			[]string{"Run R1 of consumer send", "a process that is gone"}, nil},
		"producer": {base(running), decide.RunProducer{Run: "R1"}, "", at, 0, "R1", []string{"polling"}, nil},
		"prepare":  {base(running), decide.RunPrepare{Run: "R1"}, "", at, 0, "R1", []string{"prepare"}, nil},
		"mutate":   {base(running), decide.RunMutate{Run: "R1"}, "", at, 0, "R1", []string{"mutate"}, nil},
		"next":     {base(running), decide.RunNext{Run: "R1"}, "", at, 0, "R1", []string{"next"}, nil},
	} {
		w := Workflow(c.state, c.todo, decide.Present{Now: at, MaxHeld: 1000}, Beside{})
		if c.reason == "" && (!w.Moving || w.Reason != nil) || c.reason != "" &&
			(w.Moving || w.Reason == nil || *w.Reason != c.reason) {
			t.Errorf("%s: moving %v, reason %v", name, w.Moving, w.Reason)
		}
		person := c.reason.Meaning() == decide.NeedsPerson || c.state.Attention() != nil ||
			c.reason == decide.ReasonUserPause && (c.state.Blocked != nil || c.state.Maintenance != nil)
		if w.NeedsPerson != person {
			t.Errorf("%s: needs a person: %v, want %v", name, w.NeedsPerson, person)
		}
		subject := ""
		if w.Subject != nil {
			subject = *w.Subject
		}
		if w.Workflow != "shop" || w.Since != c.since || w.Until != c.until || subject != c.subject {
			t.Errorf("%s: since %s, until %s, subject %q", name, w.Since, w.Until, subject)
		}
		for _, says := range c.says {
			if !strings.Contains(w.Message, says) {
				t.Errorf("%s does not say %q: %s", name, says, w.Message)
			}
		}
		if strings.Contains(w.Message, "\n") || strings.Contains(w.Message, "..") || !strings.HasSuffix(w.Message, ".") {
			t.Errorf("%s is not one paragraph: %s", name, w.Message)
		}
		if w.Commands == nil || !slices.Equal(w.Commands, c.commands) {
			t.Errorf("%s: commands %q", name, w.Commands)
		}
	}
}

func running(s *projections.State) { s.Current = "R1" }

// TestDamagedStaysHeld: accepting the loss does not end the hold; why says what does.
func TestDamagedStaysHeld(t *testing.T) {
	message := Damaged("shop", &engine.DamagedPast{Err: errors.New("a record cannot be read")}).Message
	if !strings.Contains(message, "stays held (loss) until") || !strings.Contains(message, "pawl resume shop") {
		t.Errorf("got %q", message)
	}
}

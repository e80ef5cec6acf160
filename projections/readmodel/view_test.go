package readmodel_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// TestFieldNames pins the JSON of every view: tests outside this repository rely on it.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	names := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(fields)), " ")
	}
	sorted := func(s string) string {
		f := strings.Fields(s)
		slices.Sort(f)
		return strings.Join(f, " ")
	}
	for _, tt := range []struct {
		view   any
		fields string
	}{
		{readmodel.Workflow{}, "name version status userPaused blocked maintenance repair pendingRetryRun revision counts " +
			"concurrency attention"},
		{readmodel.Counts{}, "available running retryable held discarded"},
		{readmodel.Attention{}, "reason since failures"},
		{readmodel.Block{}, "reason message"},
		{readmodel.Repair{}, "attempt requestedAt"},
		{readmodel.Run{}, "id workflow version handler handlerType session phase status retryOf mutationOutcome error " +
			"prepareResult mutation startedAt endedAt events eventCount"},
		{readmodel.Failure{}, "class code message line"},
		{readmodel.Event{}, "topic messageId title payload status publishedAt reservedBy createdBy causedBy held decision"},
		{readmodel.Job{}, "topic messageId title consumer state attempt attempts error maxAttempts publishedAt scheduledAt " +
			"finalizedAt held"},
		{readmodel.JobAttempt{}, "n run at endedAt error"},
		{readmodel.Mutation{}, "id run workflow connector operation params paramsHash uiTitle status result error " +
			"resolvedBy reconcileAttempts requestedAt startedAt settledAt events eventCount comment decision"},
		{readmodel.Mutation{IdempotencyKey: "k", Deadline: 1}, "id run workflow connector operation params paramsHash " +
			"uiTitle status result error resolvedBy reconcileAttempts requestedAt startedAt settledAt idempotencyKey " +
			"deadline events eventCount comment decision"},
		{readmodel.Handler{}, "name type nextRunAt wakeAt concurrency key rate held probing schedule"},
		{readmodel.Handler{State: json.RawMessage("null")},
			"name type state nextRunAt wakeAt concurrency key rate held probing schedule"},
		{readmodel.HeldEvent{}, "reason since error run mutation ends"},
		{readmodel.Probing{}, "class message attempt since nextAt"},
		{readmodel.Comment{}, "text by at"},
		{readmodel.Decision{}, "what by at"},
		{readmodel.Input{}, "id source type externalId title status outputs receivedAt"},
		{readmodel.Session{}, "id result runs startedAt endedAt"},
		{readmodel.Page[int]{}, "items next"},
	} {
		if got := names(tt.view); got != sorted(tt.fields) {
			t.Errorf("%T has fields %s, want %s", tt.view, got, sorted(tt.fields))
		}
	}
}

// TestViews checks the values that are null, empty or derived.
func TestViews(t *testing.T) {
	t.Parallel()
	at := eventlog.Instant(1_767_225_600_000_000)
	fault := &eventlog.Failure{Class: eventlog.Logic, Code: "script.threw", Message: "no", Line: 3}
	two := 2
	d := &eventlog.Definition{Consumers: []eventlog.Consumer{{Name: "work", Subscribe: []eventlog.Topic{"in"},
		MaxAttempts: &two}}}
	for _, tt := range []struct {
		view any
		want string
	}{
		{readmodel.WorkflowView(&projections.Workflow{Name: "w", Version: "1.0", Head: eventlog.Head{Revision: 7}}, d, nil),
			`{"name":"w","version":"1.0","status":"active","userPaused":false,"blocked":null,"maintenance":false,
			"repair":null,"pendingRetryRun":null,"revision":7,"concurrency":null,"counts":{"available":0,"running":0,
			"retryable":0,"held":0,"discarded":0},"attention":null}`},
		{readmodel.WorkflowView(&projections.Workflow{Name: "w", Version: "1.1", PendingRetry: "R", RepairFailures: 2,
			Blocked:     &projections.Block{Reason: eventlog.BlockLogic, Message: "m"},
			Maintenance: &projections.Maintenance{Since: at}}, d, nil),
			`{"name":"w","version":"1.1","status":"error","userPaused":false,"blocked":{"reason":"logic",
			"message":"m"},"maintenance":true,"repair":{"attempt":2,"requestedAt":"2026-01-01T00:00:00Z"},
			"pendingRetryRun":"R","revision":0,"concurrency":null,"counts":{"available":0,"running":0,"retryable":0,"held":0,
			"discarded":0},"attention":null}`},
		{readmodel.RunView("w", &projections.Run{ID: "R", Version: "1.0", Handler: "h", Type: eventlog.ProducerHandler,
			Session: "S", Phase: eventlog.PhasePending, Status: eventlog.RunStatusActive, StartedAt: at}, nil),
			`{"id":"R","workflow":"w","version":"1.0","handler":"h","handlerType":"producer","session":"S",
			"phase":"pending","status":"active","retryOf":null,"mutationOutcome":null,"error":null,
			"prepareResult":null,"mutation":null,"startedAt":"2026-01-01T00:00:00Z","endedAt":null,
			"events":[],"eventCount":0}`},
		{readmodel.RunView("w", &projections.Run{ID: "R", Version: "1.0", Handler: "h", Type: eventlog.ConsumerHandler,
			Session: "S", Phase: eventlog.PhaseMutating, Status: eventlog.RunStatusFailedLogic, RetryOf: "Q",
			Outcome: projections.OutcomeFailure, Failure: fault, PrepareResult: json.RawMessage(`{"a":1}`), Mutation: "Q",
			StartedAt: at, EndedAt: at, Reserved: []eventlog.EventRef{{Topic: "in", MessageID: "m"}}},
			func(ref eventlog.EventRef) string {
				return "Of " + string(ref.MessageID)
			}),
			`{"id":"R","workflow":"w","version":"1.0","handler":"h","handlerType":"consumer","session":"S",
			"phase":"mutating","status":"failed:logic","retryOf":"Q","mutationOutcome":"failure",
			"error":{"class":"logic","code":"script.threw","message":"no","line":3},"prepareResult":{"a":1},
			"mutation":"Q","startedAt":"2026-01-01T00:00:00Z","endedAt":"2026-01-01T00:00:00Z",
			"events":[{"topic":"in","messageId":"m","title":"Of m"}],"eventCount":1}`},
		{readmodel.EventView(&projections.TopicEvent{Topic: "in", MessageID: "m", Title: "t",
			Payload: json.RawMessage(`{"x":null}`), Status: eventlog.EventStatusReserved, ReservedBy: "R", CreatedAt: at}, nil),
			`{"topic":"in","messageId":"m","title":"t","payload":{"x":null},"status":"reserved",
			"publishedAt":"2026-01-01T00:00:00Z","reservedBy":"R","createdBy":null,"causedBy":[],"held":null,"decision":null}`},
		{readmodel.EventView(&projections.TopicEvent{Topic: "in", MessageID: "m", Title: "t",
			Status: eventlog.EventStatusSkipped, ReservedBy: "R", CreatedBy: "P", CausedBy: []eventlog.InputID{"I"},
			Reason: "sold out", Decision: &projections.Decision{What: projections.DecidedSkip,
				By: eventlog.Actor{Kind: "user", Name: "ann"}, At: at}}, nil),
			`{"topic":"in","messageId":"m","title":"t","payload":null,"status":"skipped","publishedAt":null,
			"reservedBy":null,"createdBy":"P","causedBy":["I"],"held":null,"decision":{"what":"skipped",
			"by":{"kind":"user","name":"ann","verified":false},"at":"2026-01-01T00:00:00Z"},"reason":"sold out"}`},
		{readmodel.JobView(&projections.TopicEvent{Topic: "in", MessageID: "m", Title: "T", CreatedAt: at, Executions: 1,
			Status: eventlog.EventStatusPending, Failures: 1, ScheduledAt: at,
			Attempts: []projections.Attempt{{N: 1, Run: "R", At: at, EndedAt: at, Failure: fault}}}, d, nil),
			`{"topic":"in","messageId":"m","title":"T","consumer":"work","state":"retryable","attempt":2,
			"attempts":[{"n":1,"run":"R","at":"2026-01-01T00:00:00Z","endedAt":"2026-01-01T00:00:00Z",
			"error":{"class":"logic","code":"script.threw","message":"no","line":3}}],
			"error":{"class":"logic","code":"script.threw","message":"no","line":3},"maxAttempts":2,
			"publishedAt":"2026-01-01T00:00:00Z","scheduledAt":"2026-01-01T00:00:00Z","finalizedAt":null,"held":null}`},
		{readmodel.JobView(&projections.TopicEvent{Topic: "out", MessageID: "m",
			Status: eventlog.EventStatusPending}, d, nil),
			`{"topic":"out","messageId":"m","title":"","consumer":null,"state":"available","attempt":1,
			"attempts":[],"error":null,"maxAttempts":null,"publishedAt":null,"scheduledAt":null,
			"finalizedAt":null,"held":null}`},
		{readmodel.MutationView("w", &projections.Mutation{ID: "R", Run: "R", Status: eventlog.MutationStatusInFlight,
			StartedAt: at, Key: "K", Deadline: at,
			Call: eventlog.MutationCall{Connector: "c", Operation: "o", Params: json.RawMessage(`{"b":2,"a":1}`),
				ParamsHash: "ff"}}, readmodel.Run{}),
			`{"id":"R","run":"R","workflow":"w","connector":"c","operation":"o","params":{"b":2,"a":1},
			"paramsHash":"ff","uiTitle":null,"status":"in_flight","result":null,"error":null,
			"resolvedBy":null,"reconcileAttempts":0,"requestedAt":null,"startedAt":"2026-01-01T00:00:00Z",
			"settledAt":null,"idempotencyKey":"K","deadline":"2026-01-01T00:00:00Z","comment":null,"decision":null,
			"events":[],"eventCount":0}`},
		{readmodel.InputView(&projections.Input{ID: "I", Source: "push", Type: "t", ExternalID: "x", Title: "T", Skipped: 1}),
			`{"id":"I","source":"push","type":"t","externalId":"x","title":"T","status":"skipped","outputs":[],
			"receivedAt":null}`},
	} {
		got, err := json.Marshal(tt.view)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(tt.want)); err != nil {
			t.Fatal(err)
		}
		if string(got) != want.String() {
			t.Errorf("%T:\n got %s\nwant %s", tt.view, got, &want)
		}
	}
}

package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// tool is a connector that only exists: nothing is ever called.
type tool struct {
	name       string
	operations []connector.Operation
}

var errNeverCalled = errors.New("a check must not call a connector")

func (t tool) Name() string                      { return t.name }
func (t tool) Operations() []connector.Operation { return t.operations }
func (t tool) Read(context.Context, connector.Call) (json.RawMessage, error) {
	return nil, errNeverCalled
}
func (t tool) Perform(context.Context, connector.Call) connector.Outcome { return connector.Outcome{} }
func (t tool) Reconcile(context.Context, connector.Call) connector.Reconciliation {
	return connector.Reconciliation{}
}

const mailSchema = `{"type":"object","required":["to"]}`

// catalog has a connector for mail and one for sheets.
func catalog(t *testing.T) deploy.Catalog {
	t.Helper()
	r, err := connector.NewRegistry(
		tool{"mail", []connector.Operation{
			{Name: "send", Kind: connector.Mutate, Schema: json.RawMessage(mailSchema), Timeout: 5 * time.Second,
				Reconciles: true},
			{Name: "search", Kind: connector.List},
			{Name: "fetch", Kind: connector.Get},
		}},
		tool{"sheets", []connector.Operation{{Name: "appendRow", Kind: connector.Mutate}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return deploy.CatalogOf(r)
}

// workflow is a definition without any problem; tests spoil one thing of it.
func workflow() sandbox.Definition {
	return sandbox.Definition{
		Name:   "invoices",
		Topics: []string{"email.received", "row.created"},
		Producers: []sandbox.ProducerDefinition{
			{Name: "poll", Interval: "5m", Publishes: []string{"email.received"}},
			{Name: "nightly", Cron: "0 2 * * *", Timezone: "Europe/Berlin", RunOnDeploy: true},
			{Name: "bare", Bare: true},
		},
		Consumers: []sandbox.ConsumerDefinition{
			{Name: "record", Subscribe: []string{"email.received"}, Publishes: []string{"row.created"}, HasMutate: true,
				HasNext: true, MaxAttempts: number(3)},
			{Name: "notify", Subscribe: []string{"row.created"}, HasMutate: true, MutateReadsByID: true},
		},
		Uses: []sandbox.OperationUse{
			{Connector: "sheets", Operation: "appendRow", Handler: "record", Phase: sandbox.Mutate, Line: 20, Column: 5},
			{Connector: "mail", Operation: "search", Handler: "poll", Phase: sandbox.Producer, Line: 5, Column: 9},
			{Connector: "mail", Operation: "send", Handler: "notify", Phase: sandbox.Mutate, Line: 30, Column: 7},
			{Connector: "mail", Operation: "fetch", Handler: "notify", Phase: sandbox.Mutate, Line: 29, Column: 7},
			{Connector: "mail", Operation: "fetch", Line: 40, Column: 1},
		},
	}
}

func number(n int) *int { return &n }

func TestCheck_AcceptsAndPins(t *testing.T) {
	accepted, problems := checked(deploy.Input{Definition: workflow(), Catalog: catalog(t)})
	if len(problems) != 0 {
		t.Fatalf("problems: %+v", problems)
	}
	want := deploy.Accepted{Name: "invoices", Definition: eventlog.Definition{
		Topics: []eventlog.Topic{"email.received", "row.created"},
		Producers: []eventlog.Producer{
			{Name: "poll", IntervalMS: 300_000, Publishes: []eventlog.Topic{"email.received"}, PublishesDeclared: true},
			{Name: "nightly", Cron: "0 2 * * *", Timezone: "Europe/Berlin", RunOnDeploy: true},
			{Name: "bare", IntervalMS: schedule.BareInterval.Milliseconds(), RunOnDeploy: true},
		},
		Consumers: []eventlog.Consumer{
			{Name: "record", Subscribe: []eventlog.Topic{"email.received"}, Publishes: []eventlog.Topic{"row.created"},
				PublishesDeclared: true,
				HasMutate:         true, HasNext: true, MaxAttempts: number(3)},
			{Name: "notify", Subscribe: []eventlog.Topic{"row.created"}, HasMutate: true, MutateReadsByID: true},
		},
		Operations: []eventlog.Operation{
			{Connector: "mail", Operation: "fetch", Kind: "get", TimeoutMS: 30_000},
			{Connector: "mail", Operation: "search", Kind: "list", TimeoutMS: 30_000},
			{Connector: "mail", Operation: "send", Kind: "mutate", Schema: []byte(mailSchema), Reconciles: true,
				TimeoutMS: 5_000},
			{Connector: "sheets", Operation: "appendRow", Kind: "mutate", TimeoutMS: 30_000},
		},
	}}
	if !reflect.DeepEqual(accepted, want) {
		t.Errorf("accepted\n%+v\nwant\n%+v", accepted, want)
	}
}

func TestCheck_PinsDoNotDependOnTheOrderOfUses(t *testing.T) {
	d := workflow()
	first, _ := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
	d.Uses = slices.Clone(d.Uses)
	slices.Reverse(d.Uses)
	second, _ := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
	if !reflect.DeepEqual(first, second) {
		t.Errorf("got\n%+v\nand\n%+v", first, second)
	}
}

// expectation is one problem that must be found, and the only one.
type expectation struct {
	severity, code string
	line           int
	message        string // part of it
	fix            string // part of it
}

// checked is [deploy.Check], each hint in a fix: its code, and its values in brackets.
func checked(in deploy.Input) (deploy.Accepted, []sandbox.Problem) {
	accepted, found := deploy.Check(in)
	var problems []sandbox.Problem
	for _, p := range found {
		if p.Hint.Code != "" {
			p.Fix += fmt.Sprint(p.Hint.Code, " ", p.Hint.Values)
		}
		problems = append(problems, p.Problem)
	}
	if refused := deploy.Refused(found); refused != sandbox.HasErrors(problems) {
		panic(fmt.Sprintf("Refused is %v of %+v", refused, found))
	}
	return accepted, problems
}

func expect(t *testing.T, in deploy.Input, wants ...expectation) {
	t.Helper()
	accepted, problems := checked(in)
	if len(problems) != len(wants) {
		t.Fatalf("got %d problems, want %d: %+v", len(problems), len(wants), problems)
	}
	refused := false
	for i, want := range wants {
		p := problems[i]
		if p.Severity != want.severity || p.Code != want.code || p.Line != want.line ||
			!strings.Contains(p.Message, want.message) || !strings.Contains(p.Fix, want.fix) || p.Fix == "" {
			t.Errorf("problem %d: got %+v, want %+v", i, p, want)
		}
		refused = refused || want.severity == sandbox.SeverityError
	}
	if refused != sandbox.HasErrors(problems) {
		t.Errorf("refused is %v, want %v", sandbox.HasErrors(problems), refused)
	}
	if refused != reflect.DeepEqual(accepted, deploy.Accepted{}) {
		t.Errorf("refused is %v and accepted is %+v", refused, accepted)
	}
}

func TestCheck_Problems(t *testing.T) {
	const isError, isWarning = sandbox.SeverityError, sandbox.SeverityWarning
	tests := []struct {
		name  string
		spoil func(*sandbox.Definition)
		want  expectation
	}{
		{"workflow name", func(d *sandbox.Definition) { d.Name = "My invoices!" },
			expectation{isError, deploy.CodeWorkflowName, 0, `"My invoices!"`, `"My-invoices"`}},
		{"topic name", func(d *sandbox.Definition) { d.Topics = append(d.Topics, "bad topic") },
			expectation{isError, deploy.CodeTopicName, 0, `"bad topic"`, `"bad-topic"`}},
		{"producer name", func(d *sandbox.Definition) { d.Producers[2].Name = "send-mail" },
			expectation{isError, deploy.CodeHandlerName, 0, `producer name "send-mail"`, `"sendMail"`}},
		{"consumer name", func(d *sandbox.Definition) { d.Consumers[0].Name = "2nd" },
			expectation{isError, deploy.CodeHandlerName, 0, `consumer name "2nd"`, `"_2nd"`}},
		{"topic twice", func(d *sandbox.Definition) { d.Topics = append(d.Topics, "row.created") },
			expectation{isError, deploy.CodeDuplicate, 0, `"row.created"`, "once"}},
		{"handler twice", func(d *sandbox.Definition) { d.Producers[2].Name = "notify" },
			expectation{isError, deploy.CodeDuplicate, 0, "a producer and a consumer", `"notifyConsumer"`}},
		{"S2 interval", func(d *sandbox.Definition) { d.Producers[0].Interval = "5 minutes" },
			expectation{isError, deploy.CodeSchedule, 0, `producer "poll": interval "5 minutes"`, `interval: "5m"`}},
		{"S2 interval too short", func(d *sandbox.Definition) { d.Producers[0].Interval = "10ms" },
			expectation{isError, deploy.CodeSchedule, 0, "shortest is 1s", `interval: "5m"`}},
		{"S2 cron", func(d *sandbox.Definition) { d.Producers[1].Cron = "0 25 * * *" },
			expectation{isError, deploy.CodeSchedule, 0, `producer "nightly": cron "0 25 * * *": the hour "25"`,
				`cron: "0 9 * * 1-5"`}},
		{"S2 cron never", func(d *sandbox.Definition) { d.Producers[1].Cron = "0 0 30 2 *" },
			expectation{isError, deploy.CodeSchedule, 0, "never runs", "cron"}},
		{"S2 zone", func(d *sandbox.Definition) { d.Producers[1].Timezone = "Berlin" },
			expectation{isError, deploy.CodeSchedule, 0, `timezone "Berlin"`, "Europe/Berlin"}},
		{"S2 both", func(d *sandbox.Definition) { d.Producers[1].Interval = "5m" },
			expectation{isError, deploy.CodeSchedule, 0, "both set", "interval"}},
		{"S8 subscribe undeclared", func(d *sandbox.Definition) {
			d.Consumers[1].Subscribe = []string{"row.create", "row.created"}
		},
			expectation{isError, deploy.CodeTopicUnknown, 0, `consumer "notify" names topic "row.create" in subscribe`,
				"email.received, row.created"}},
		{"S8 publish undeclared", func(d *sandbox.Definition) { d.Producers[0].Publishes = []string{"emails"} },
			expectation{isError, deploy.CodeTopicUnknown, 0, `producer "poll" names topic "emails" in publishes`,
				"email.received, row.created"}},
		{"S8 two consumers", func(d *sandbox.Definition) {
			d.Consumers[1].Subscribe = []string{"row.created", "email.received"}
		},
			expectation{isError, deploy.CodeTwoConsumers, 0, `topic "email.received" has two consumers, "record" and "notify"`,
				`"email.received.notify"`}},
		{"subscribe missing", func(d *sandbox.Definition) { d.Consumers[1].Subscribe = nil },
			expectation{isError, deploy.CodeSubscribe, 0, `"notify"`, "subscribe"}},
		{"subscribe empty", func(d *sandbox.Definition) { d.Consumers[1].Subscribe = []string{} },
			expectation{isError, deploy.CodeSubscribe, 0, `"notify"`, "subscribe"}},
		{"subscribe twice", func(d *sandbox.Definition) { d.Consumers[1].Subscribe = []string{"row.created", "row.created"} },
			expectation{isWarning, deploy.CodeDuplicate, 0, `"row.created" twice`, "once"}},
		{"publishes without next", func(d *sandbox.Definition) { d.Consumers[0].HasNext = false },
			expectation{isWarning, deploy.CodePublishes, 0, `"record"`, "next"}},
		{"J2 attempts", func(d *sandbox.Definition) { d.Consumers[0].MaxAttempts = number(-1) },
			expectation{isError, deploy.CodeMaxAttempts, 0, "is -1", "maxAttempts: 3"}},
		{"unknown connector", func(d *sandbox.Definition) { d.Uses[0].Connector = "sheet" },
			expectation{isError, deploy.CodeConnector, 20, "no connector sheet", "sheets"}},
		{"nothing similar", func(d *sandbox.Definition) { d.Uses[0].Connector = "warehouse" },
			expectation{isError, deploy.CodeConnector, 20, "no connector warehouse", "mail, sheets"}},
		{"unknown operation", func(d *sandbox.Definition) { d.Uses[2].Operation = "sent" },
			expectation{isError, deploy.CodeOperation, 30, "mail has no operation sent", "did you mean mail.send"}},
		{"reserved connector", func(d *sandbox.Definition) { d.Uses[0].Connector = "pawl" },
			expectation{isError, deploy.CodeReserved, 20, "ctx.pawl", "ctx.<connector>.<operation>"}},
		{"R8 mutation in a producer", func(d *sandbox.Definition) { d.Uses[1].Operation = "send" },
			expectation{isError, deploy.CodePhase, 5,
				`mail.send is a mutate operation and may not be called in producer of "poll"`, "publish"}},
		{"R8 mutation in prepare", func(d *sandbox.Definition) { d.Uses[2].Phase = sandbox.Prepare },
			expectation{isError, deploy.CodePhase, 30, "in prepare", "call it in mutate"}},
		{"R8 mutation in next", func(d *sandbox.Definition) { d.Uses[2].Phase = sandbox.Next },
			expectation{isError, deploy.CodePhase, 30, "in next", "call it in mutate"}},
		{"R8 read in next", func(d *sandbox.Definition) { d.Uses[3].Phase = sandbox.Next },
			expectation{isError, deploy.CodePhase, 29, "mail.fetch is a get operation", "prepare"}},
		{"R6 list in mutate", func(d *sandbox.Definition) { d.Uses[3].Operation = "search" },
			expectation{isError, deploy.CodePhase, 29, "mail.search is a list operation", "prepare"}},
		{"R6 get in mutate without byId", func(d *sandbox.Definition) { d.Consumers[1].MutateReadsByID = false },
			expectation{isError, deploy.CodePhase, 29, "mail.fetch is a get operation", `mutateReads: "byId"`}},
		{"unused topic", func(d *sandbox.Definition) {
			d.Topics = append(d.Topics, "spare")
			d.Producers = d.Producers[:1]
		}, expectation{isWarning, deploy.CodeTopicUnused, 0, `"spare"`, "remove"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := workflow()
			tt.spoil(&d)
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t)}, tt.want)
		})
	}
}

func TestS8_AllowedTopics(t *testing.T) {
	tests := map[string]func(*sandbox.Definition){
		"a topic without a subscriber": func(d *sandbox.Definition) { d.Consumers = d.Consumers[:1]; d.Uses = d.Uses[:1] },
		"several publishers":           func(d *sandbox.Definition) { d.Producers[1].Publishes = []string{"email.received"} },
		"publishes declared as none":   func(d *sandbox.Definition) { d.Producers[1].Publishes = []string{} },
		"a topic that an undeclared publisher may reach": func(d *sandbox.Definition) {
			d.Topics = append(d.Topics, "spare")
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			d := workflow()
			change(&d)
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t)})
		})
	}
}

func TestS8_PublishesDeclaredAsNoneStaysDeclared(t *testing.T) {
	d := workflow()
	d.Producers[1].Publishes = []string{}
	accepted, _ := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
	if p, _ := accepted.Definition.Producer("nightly"); !p.PublishesDeclared || len(p.Publishes) != 0 {
		t.Errorf("got %+v, want declared and empty", p)
	}
}

// J7: what a consumer discards never comes back to it, straight or through another one.
func TestJ7_DeadLettersNeverComeBack(t *testing.T) {
	retries := 1
	const record, notify = 0, 1 // of email.received, and of row.created
	for name, c := range map[string]struct {
		change func(*sandbox.Definition)
		says   string
	}{
		"to itself": {func(d *sandbox.Definition) {
			d.Consumers[record].MaxAttempts, d.Consumers[record].DeadLetter = &retries, "email.received"
		}, `consumer "record" discards comes back to it`},
		"through another": {func(d *sandbox.Definition) {
			d.Consumers[record].MaxAttempts, d.Consumers[record].DeadLetter = &retries, "row.created"
			d.Consumers[notify].MaxAttempts, d.Consumers[notify].DeadLetter = &retries, "email.received"
		}, "comes back to it"},
		"nothing is discarded": {func(d *sandbox.Definition) {
			d.Consumers[record].MaxAttempts, d.Consumers[record].DeadLetter = nil, "row.created"
		},
			"no maxAttempts"},
		"to a topic of another": {func(d *sandbox.Definition) {
			d.Consumers[record].MaxAttempts, d.Consumers[record].DeadLetter = &retries, "row.created"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := workflow()
			c.change(&d)
			accepted, problems := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
			found := ""
			for _, p := range problems {
				if p.Code == deploy.CodeDeadLetter {
					found += p.Message
				}
			}
			if (found != "") != (c.says != "") || !strings.Contains(found, c.says) {
				t.Errorf("said %q, want %q", found, c.says)
			}
			if consumer, _ := accepted.Definition.Consumer("record"); c.says == "" && consumer.DeadLetter != "row.created" {
				t.Errorf("accepted %+v", consumer)
			}
		})
	}
	d := workflow()
	d.Consumers[record].MaxAttempts, d.Consumers[record].DeadLetter = &retries, "nowhere"
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t)},
		expectation{sandbox.SeverityError, deploy.CodeTopicUnknown, 0, `names topic "nowhere"`, `topics: { "nowhere": {} }`})
}

func TestCheck_EmptyWorkflowIsAWarning(t *testing.T) {
	expect(t, deploy.Input{Definition: sandbox.Definition{Name: "empty"}},
		expectation{sandbox.SeverityWarning, deploy.CodeEmpty, 0, "nothing ever runs", "add"})
}

func TestCheck_UnknownConnectorOfALoneValidation(t *testing.T) {
	d := workflow()
	d.Uses[0].Connector = "warehouse"
	in := deploy.Input{Definition: d, Catalog: catalog(t), UnknownConnector: sandbox.SeverityWarning}
	expect(t, in, expectation{sandbox.SeverityWarning, deploy.CodeConnector, 20, "no connector warehouse", "mail, sheets"})
	accepted, _ := checked(in)
	if _, pinned := accepted.Definition.Operation("warehouse", "appendRow"); pinned {
		t.Error("an unknown operation was pinned")
	}
	d = workflow() // a connector that is there has no operation that is not
	d.Uses[0].Operation = "append"
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t), UnknownConnector: sandbox.SeverityWarning},
		expectation{sandbox.SeverityError, deploy.CodeOperation, 20, "sheets has no operation append", "appendRow"})
}

func TestCheck_UnknownOperationIsSaidOnceAndPlacesAreSorted(t *testing.T) {
	d := workflow()
	d.Uses = []sandbox.OperationUse{
		{Connector: "mail", Operation: "send", Handler: "poll", Phase: sandbox.Producer, Line: 9, Column: 1},
		{Connector: "nowhere", Operation: "x", Line: 7, Column: 3},
		{Connector: "nowhere", Operation: "x", Line: 8, Column: 3},
		{Connector: "mail", Operation: "send", Handler: "nightly", Phase: sandbox.Producer, Line: 2, Column: 1},
	}
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t)},
		expectation{sandbox.SeverityError, deploy.CodePhase, 2, "nightly", "publish"},
		expectation{sandbox.SeverityError, deploy.CodeConnector, 7, "nowhere", "mail, sheets"},
		expectation{sandbox.SeverityError, deploy.CodePhase, 9, "poll", "publish"})
}

func TestCheck_WithoutACatalogEverythingIsUnknown(t *testing.T) {
	d := workflow()
	d.Uses = d.Uses[:1]
	expect(t, deploy.Input{Definition: d},
		expectation{sandbox.SeverityError, deploy.CodeConnector, 20, "no connector sheets", "known: none"})
}

func TestCheck_ADescribedScript(t *testing.T) {
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "invoices.ts", Code: `
export default Keep.workflow({
  name: "invoices",
  topics: { "email.received": {} },
  producers: {
    poll: { interval: "5m", async handler(ctx) { await ctx.mail.search({}) } },
  },
  consumers: {
    record: Keep.consumer({
      subscribe: ["email.received"],
      async prepare(ctx) { await ctx.sheets.appendRow({}); return { reservations: [] } },
      async mutate(ctx, prepared) { await ctx.sheets.appendRow({ row: [] }) },
    }),
  },
})`})
	if err != nil || sandbox.HasErrors(problems) {
		t.Fatal(err, problems)
	}
	expect(t, deploy.Input{Definition: definition, Found: problems, Catalog: catalog(t)},
		expectation{sandbox.SeverityError, deploy.CodePhase, 11, "sheets.appendRow", "call it in mutate"})
}

// TestPolicies_ScriptLimitsAreWhatTheSandboxHonours: what may be configured is not reduced when a script runs.
func TestPolicies_ScriptLimitsAreWhatTheSandboxHonours(t *testing.T) {
	policies := schedule.Default()
	policies.Script.CPU, policies.Script.Stack = sandbox.MaxCPU, sandbox.MaxStack
	if err := policies.Validate(); err != nil {
		t.Error(err)
	}
	policies.Script.CPU++
	policies.Script.Stack++
	if err := policies.Validate(); err == nil || !strings.Contains(err.Error(), "script.cpu") ||
		!strings.Contains(err.Error(), "script.stack") {
		t.Errorf("more than is honoured is accepted: %v", err)
	}
}

package worker

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

func describeText(t *testing.T, code string) (sandbox.Definition, []sandbox.Problem) {
	t.Helper()
	e := vm.NewExecutor(vm.Config{Limits: sandbox.Limits{CPU: 300 * time.Millisecond}})
	d, problems, err := e.Describe(t.Context(), sandbox.Source{Filename: "dir/flow.ts", Code: code})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return d, problems
}

// TestDescribe reads every member of a definition.
func TestDescribe(t *testing.T) {
	t.Parallel()
	d, problems := describeText(t, `
import type { Something } from "somewhere";
const topics = { "a.b": {}, c: {} } as const;
const second = Keep.consumer({ subscribe: ["c"], async prepare(ctx) { return { reservations: [], data: {} } }, maxAttempts: 0, concurrency: 8, key: "customer.id", rate: "10/s" });
export default Keep.workflow({
  name: "full", topics,
  producers: {
    bare: async (ctx, state: Something) => state,
    every: { interval: "5m", publishes: ["c"], handler: async () => {} },
    daily: Keep.producer({ cron: "0 9 * * *", timezone: "Europe/Berlin", runOnDeploy: true, run() {} }),
    declared: { publishes: [], poll() {} },
  },
  consumers: {
    first: Keep.consumer({ subscribe: ["a.b"], mutateReads: "byId", publishes: ["c"], maxAttempts: 3, prepare, mutate: async () => {}, next() {} }),
    second,
  },
});
async function prepare() { return { reservations: [] } }
`)
	d.Places = nil
	three, zero, eight := 3, 0, 8
	want := sandbox.Definition{
		Name: "full", Topics: []string{"a.b", "c"},
		Producers: []sandbox.ProducerDefinition{
			{Name: "bare", Bare: true}, {Name: "every", Interval: "5m", Publishes: []string{"c"}},
			{Name: "daily", Cron: "0 9 * * *", Timezone: "Europe/Berlin", RunOnDeploy: true},
			{Name: "declared", Bare: true, Publishes: []string{}},
		},
		Consumers: []sandbox.ConsumerDefinition{
			{Name: "first", Subscribe: []string{"a.b"}, Publishes: []string{"c"}, HasMutate: true, HasNext: true,
				MutateReadsByID: true, MaxAttempts: &three},
			{Name: "second", Subscribe: []string{"c"}, MaxAttempts: &zero, Concurrency: &eight, Key: "customer.id",
				Rate: "10/s"},
		},
	}
	if !reflect.DeepEqual(d, want) || len(problems) != 0 {
		t.Errorf("got  %+v\nwant %+v\nproblems %+v", d, want, problems)
	}
}

// TestProblems: what is wrong with a script is said with a code, the author's line and a fix.
func TestProblems(t *testing.T) {
	t.Parallel()
	const ok = `name: "w", topics: { t: {} }, `
	consumer := func(members string) string {
		return "export default Keep.workflow({ " + ok + "consumers: {\n c: Keep.consumer({\n  subscribe: ['t'],\n  " +
			"async prepare() { return { reservations: [] } },\n  " + members + "}) } })"
	}
	for name, c := range map[string]struct {
		code string
		want []string // code@line:column, `!` in front of warnings; column 0 where it is not checked
	}{
		"syntax":            {"const x = ;\n", []string{"script.syntax@1:11"}},
		"syntax in the end": {"export default Keep.workflow({\n  name: 'x',\n", []string{"script.syntax@3:1"}},
		"jsx":               {"const x = <div/>;", []string{"script.syntax@1:0"}},
		"breakout":          {"});(function(){", []string{"script.syntax@1:1"}},
		"top-level await":   {"await 1;\n", []string{"script.syntax@1:1"}},
		"import":            {"\nimport fs from 'fs';\nfs.x()", []string{"script.import@2:16"}},
		"require":           {"const fs = require('fs');", []string{"script.import@1:20"}},
		"require asked":     {consumer("next() { return typeof require === 'function' ? require('a') : 1 }"), nil},
		"require tried": {consumer("next() { try { require('a') } catch { return 1 } }"),
			[]string{"!global.absent@5:18"}},
		"require counted on": {consumer("next() { try { return 1 } finally {\n require('a') } }"),
			[]string{"script.import@6:10"}},
		"dynamic import": {"\nexport const x = import('fs')", []string{"script.import@2:25"}},
		"re-export":      {"export * from './other'", []string{"script.import@1:15"}},
		"regexp":         {"\nexport const x = /(/;", []string{"script.syntax@2:0"}},
		"throws":         {"\nthrow new Error('top')", []string{"script.threw@2:7"}},
		"missing global": {"const x = 1;\nconst y = fetch('x');", []string{"script.threw@2:11",
			"!global.absent@2:11"}},
		"absent global": {consumer("async next(ctx) {\n   const { URL, x: [Buffer] } = {x: []}; URL(Buffer, " +
			"ctx.fetch.x, typeof process);\n   setTimeout(() => setTimeout()) }"), []string{"!global.absent@7:4"}},
		"endless":   {"\nfor (;;) { Math.abs(1) }", []string{"limit.cpu@2:0"}},
		"too large": {"// " + strings.Repeat("x", 300<<10), []string{"limit.source@0:0"}},
		"empty":     {"", []string{"shape.default@0:0"}},
		"no default": {"export const w = Keep.workflow({name: 'x', topics: {}})",
			[]string{"shape.default@1:0"}},
		"default number": {"export default 5", []string{"shape.default@0:0"}},
		"default null":   {"export default null", []string{"shape.default@0:0"}},
		"not by Keep":    {"export default { " + ok + "producers: { p() {} } }", []string{"shape.default@0:0"}},
		"no argument":    {"export default Keep.workflow()", []string{"shape.default@0:0"}},
		"nothing to do":  {"export default Keep.workflow({ " + ok + "})", []string{"shape.empty@1:30"}},
		"no name": {"export default Keep.workflow({\n topics: { t: {} }, producers: { p() {} } })",
			[]string{"shape.name@1:30"}},
		"name is no text": {"export default Keep.workflow({\n  name: 5, topics: { t: {} }, producers: { " +
			"p() {} } })", []string{"shape.name@2:3"}},
		"no topics": {"export default Keep.workflow({ name: 'x', producers: { p() {} } })",
			[]string{"shape.topics@1:30"}},
		"topics are an array": {"export default Keep.workflow({ name: 'x',\n  topics: ['t'], producers: { p() {} } })",
			[]string{"shape.topics@2:3"}},
		"unknown key": {"export default Keep.workflow({ " + ok + "\n  topic: {}, producers: { p() {} } })",
			[]string{"!shape.unknownKey@2:3"}},
		"producers array": {"export default Keep.workflow({ " + ok + "\n  producers: [] })",
			[]string{"shape.producer@2:3"}},
		"producer number": {"export default Keep.workflow({ " + ok + "producers: {\n  p: 5 } })",
			[]string{"shape.producer@2:3"}},
		"producer no handler": {"export default Keep.workflow({ " + ok + "producers: {\n  p: { interval: '5m' } } })",
			[]string{"shape.producer@2:3"}},
		"producer two": {"export default Keep.workflow({ " + ok +
			"producers: {\n  p: { interval: '5m', run() {}, poll() {} } } })", []string{"shape.producer@2:34"}},
		"producer flag": {"export default Keep.workflow({ " + ok +
			"producers: {\n  p: { cron: '* * * * *',\n   runOnDeploy: 'yes', run() {} } } })",
			[]string{"shape.producer@3:4"}},
		"producer both": {"export default Keep.workflow({ " + ok +
			"producers: {\n  p: { interval: '5m',\n   cron: '* * * * *', run() {} } } })",
			[]string{"shape.producer@3:4"}},
		"interval number": {"export default Keep.workflow({ " + ok +
			"producers: {\n  p: {\n   interval: 5, run() {} } } })", []string{"shape.producer@3:4"}},
		"producer unknown": {"export default Keep.workflow({ " + ok +
			"producers: {\n  p: {\n   intervall: '5m', run() {} } } })", []string{"!shape.unknownKey@3:4"}},
		"consumer function": {"export default Keep.workflow({ " + ok + "consumers: {\n  c() {} } })",
			[]string{"shape.consumer@2:3"}},
		"no subscribe": {"export default Keep.workflow({ " + ok +
			"consumers: {\n  c: { prepare: () => ({ reservations: [] }) } } })", []string{"shape.consumer@2:3"}},
		"subscribe to none": {"export default Keep.workflow({ " + ok +
			"consumers: {\n  c: { subscribe: [], prepare: () => ({ reservations: [] }) } } })",
			[]string{"shape.consumer@2:8"}},
		"subscribe text": {"export default Keep.workflow({ " + ok +
			"consumers: {\n  c: { subscribe: 't', prepare: () => ({ reservations: [] }) } } })",
			[]string{"shape.consumer@2:8"}},
		"no prepare": {"export default Keep.workflow({ " + ok +
			"consumers: {\n  c: { subscribe: ['t'] } } })", []string{"shape.consumer@2:3"}},
		"mutate is no code": {consumer("mutate: 5"), []string{"shape.consumer@5:3"}},
		"mutateReads":       {consumer("mutateReads: true"), []string{"shape.consumer@5:3"}},
		"maxAttempts":       {consumer("maxAttempts: -1"), []string{"shape.consumer@5:3"}},
		"maxAttempts text":  {consumer("maxAttempts: { valueOf() { throw 1 } }"), []string{"shape.consumer@5:3"}},
		"concurrency":       {consumer("concurrency: 4,\n  key: 'a', rate: '1/s'"), nil},
		"concurrency is no number": {consumer("concurrency: '4',\n  key: ['a'], rate: 10"), []string{"shape.concurrency@5:3",
			"shape.concurrency@6:3", "shape.concurrency@6:15"}},
		"null is no number": {consumer("concurrency: null,\n  maxAttempts: null"), []string{"shape.concurrency@5:3",
			"shape.consumer@6:3"}},
		"concurrency is not whole": {consumer("concurrency: 2.5"), []string{"shape.concurrency@5:3"}},
		"concurrency without end":  {consumer("concurrency: Infinity"), []string{"shape.concurrency@5:3"}},
		"key is empty":             {consumer("concurrency: 4,\n  key: ''"), []string{"shape.concurrency@6:3"}},
		"consumer unknown":         {consumer("nxt() {}"), []string{"!shape.unknownKey@5:3"}},
		"an instance's members are its own": {"class C { topic = 't'; nxt() {}; subscribe = ['t']; " +
			"prepare() { return { reservations: [] } } }\nexport default Keep.workflow({ " + ok +
			"consumers: { c: new C() } })", nil},
		"an instance's member that is misspelt": {"class C { subscribe = ['t'];\n  maxAttemps = 3; " +
			"prepare() { return { reservations: [] } } }\nexport default Keep.workflow({ " + ok +
			"consumers: { c: new C() } })", []string{"!shape.unknownKey@2:3"}},
		"getter throws": {"export default Keep.workflow({ get name() { throw new Error('x') } })",
			[]string{"script.threw@1:51"}},
		"getter endless": {"export default Keep.workflow({ get name() { for (;;) Math.abs(1) } })",
			[]string{"limit.cpu@1:0"}},
		"proxy": {"export default Keep.workflow(new Proxy({}, { ownKeys() { throw 5 } }))",
			[]string{"script.threw@1:0"}},
		"first character": {"x", []string{"script.threw@1:1", "!global.unknown@1:1"}},
		"peek in next": {consumer("async next(ctx) {\n   await ctx.peek('t') }"),
			[]string{"phase.forbidden@6:14"}},
		"publish destructured": {consumer("async mutate({ publish }) {\n   await publish('t', e) }"),
			[]string{"phase.forbidden@6:10", "!global.unknown@6:23"}},
		"connector called": {consumer("async next(ctx) {\n   await ctx.fetch('t') }"),
			[]string{"connector.unknown@6:14"}},
		"code after": {consumer("async mutate(ctx) {\n   await ctx.a.b({});\n   console.log(1) }"),
			[]string{"!mutate.codeAfter@7:4"}},
		"result used": {consumer("async mutate(ctx) {\n   const r = await ctx.a.b({});\n   return r }"),
			[]string{"!mutate.codeAfter@7:4"}},
		"after in a branch": {consumer("async mutate(ctx) {\n   if (1) { await ctx.a.b({});\n   console.log(1) } }"),
			[]string{"!mutate.codeAfter@7:4"}},
		"nothing after": {consumer("async mutate(ctx) {\n   if (1) { await ctx.a.b({}); return; }\n   await " +
			"ctx.a.c({}); }"), nil},
		"returned call": {consumer("mutateReads: 'byId', async mutate(ctx) {\n   const x = await " +
			"ctx.a.get({});\n   return ctx.a.b({}) }"), nil},
		"read by id first": {consumer("mutateReads: 'byId', async mutate(ctx) {\n   const x = await " +
			"ctx.a.get({});\n   await ctx.a.b({});\n x.y() }"), []string{"!mutate.codeAfter@8:2"}},
		"conditional call": {consumer("async mutate(ctx) {\n   Date.now() && await ctx.a.b({});\n   console.log(1) }"),
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := describeText(t, c.code)
			var got []string
			for _, p := range problems {
				s := fmt.Sprintf("%s@%d:%d", p.Code, p.Line, p.Column)
				if p.Severity == sandbox.SeverityWarning {
					s = "!" + s
				} else if p.Severity != sandbox.SeverityError {
					t.Errorf("severity %q", p.Severity)
				}
				if i := len(got); i < len(c.want) && strings.HasSuffix(c.want[i], ":0") {
					s = s[:strings.LastIndex(s, ":")] + ":0"
				}
				got = append(got, s)
				if p.Fix == "" || p.Message == "" || len(p.Message) > sandbox.MaxMessage+10 {
					t.Errorf("no fix or message: %+v", p)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v\n%+v", got, c.want, problems)
			}
		})
	}
}

// TestDefaultExport: a missing one is told apart from one of the wrong kind.
func TestDefaultExport(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"":                                   "the script has no default export, which must be a workflow",
		"// nothing yet":                     "the script has no default export, which must be a workflow",
		"export const w = Keep.workflow({})": "the script has no default export, which must be a workflow",
		"export default undefined":           "the script has no default export, which must be a workflow",
		"export default null":                "the default export must be a workflow, and is null",
		"export default 5":                   "the default export must be a workflow, and is 5",
		"export default 'w'":                 `the default export must be a workflow, and is the text "w"`,
	} {
		d, problems := describeText(t, code)
		if len(problems) != 1 || problems[0].Message != want || problems[0].Fix == "" || !d.Incomplete ||
			!d.Lacks("name") {
			t.Errorf("%q: %+v %+v, want %q", code, d, problems, want)
		}
	}
}

// TestLacks: of an incomplete definition it is known what is missing, and that it is not the rest.
func TestLacks(t *testing.T) {
	t.Parallel()
	d, _ := describeText(t, "export default Keep.workflow({ topics: { t: {} }, producers: { p: { interval: 5, run() "+
		"{} }, q: 5 }, consumers: { c: { subscribe: 't', prepare() { return { reservations: [] } } } } })")
	for path, want := range map[string]bool{
		"name": true, "topics": false, "producers": false, "producers p": false, "producers p interval": true,
		"producers p cron": false,
		"producers q":      true, "producers q publishes": true, "consumers c": false, "consumers c subscribe": true,
		"consumers c publishes": false,
	} {
		if got := d.Lacks(strings.Fields(path)...); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if len(d.Producers) != 2 || len(d.Consumers) != 1 || !d.Incomplete {
		t.Errorf("%+v", d)
	}
	for _, code := range []string{"throw 1", "export default Keep.workflow({ name: 'w', get topics() { throw 1 } })"} {
		if d, _ := describeText(t, code); !d.Incomplete || !d.Lacks("topics") {
			t.Errorf("%q: %+v", code, d)
		}
	}
}

// TestUses finds operations however the author names the ctx.
func TestUses(t *testing.T) {
	t.Parallel()
	d, _ := describeText(t, `export default Keep.workflow({ name: "w", topics: { t: {} },
  producers: { async poll(c) {
    await c.one.a({}); c?.one?.b(); await c["one"].c({});
  } },
  consumers: { k: Keep.consumer({ subscribe: ["t"],
    async prepare({ two, peek: look }) { await look("t"); const { b } = two; await two.a({}); return b({}) },
    mutate: async (x) => { const g = x.three; const { four } = x, again = x; g.a({}); four.b({}); again.five.c({}); await send(1, x); },
    next: finish }) } });
const send = async (n, host) => { await deep(host); return host.six.a({}) };
function deep(h) { if (0) deep(h); return Promise.resolve().then(h.six.b) }
class Box { go(ctx) { return ctx.seven.a({}) } }
function finish(ctx) { ctx.log(new Box().go(ctx)); ctx.publish("t", { messageId: "m", title: "t", publish: 1 }); other.publish(); }
const other = { publish() {} };
`)
	var got []string
	for _, u := range d.Uses {
		got = append(got, fmt.Sprintf("%s.%s %s/%s:%d", u.Connector, u.Operation, u.Handler, u.Phase, u.Line))
	}
	want := []string{
		"one.a poll/producer:3", "one.b poll/producer:3", "one.c poll/producer:3",
		"two.a k/prepare:6", "two.b k/prepare:6",
		"three.a k/mutate:7", "four.b k/mutate:7", "five.c k/mutate:7",
		"six.a k/mutate:9", "six.b k/mutate:10",
		"seven.a /:11",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDescribeCancelled is no verdict about the script.
func TestDescribeCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, problems, err := newExecutor(t).Describe(ctx, sandbox.Source{Filename: "a.ts", Code: "for (;;) {}"})
	wantFault(t, err, sandbox.FaultTransient, "script.cancelled")
	if problems != nil {
		t.Errorf("problems %+v", problems)
	}
}

// TestInvokeOfBrokenScript fails like the deploy would have.
func TestInvokeOfBrokenScript(t *testing.T) {
	t.Parallel()
	call := invocationOf(sandbox.Prepare, "")
	call.Source.Code = "\nexport default (;"
	e := newExecutor(t)
	for range 2 { // compiled, then remembered
		_, err := e.Invoke(t.Context(), call, world)
		if f := wantFault(t, err, sandbox.FaultScript, "script.syntax"); f.Line != 2 {
			t.Errorf("line %d", f.Line)
		}
	}
	call.Source.Code = "export default 5"
	_, err := e.Invoke(t.Context(), call, world)
	wantFault(t, err, sandbox.FaultScript, "handler.unknown")
}

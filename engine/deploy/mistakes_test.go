package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// flawless is a script without any problem; each mistake replaces a part of it.
const flawless = `export default Pawl.workflow({
  name: "invoices",
  topics: { "email.received": {}, "row.created": {} },
  producers: {
    poll: {
      interval: "5m",
      publishes: ["email.received"],
      async handler(ctx, state) {
        const mails = await ctx.mail.search({ after: state?.cursor });
        for (const mail of mails.list) {
          await ctx.publish("email.received", {
            messageId: mail.id,
            title: "Email from " + mail.from,
            payload: { from: mail.from },
          });
        }
        return { cursor: mails.last };
      },
    },
    nightly: { cron: "0 2 * * *", timezone: "Europe/Berlin", async handler(ctx) { ctx.log("good night"); } },
  },
  consumers: {
    record: Pawl.consumer({
      subscribe: ["email.received"],
      publishes: ["row.created"],
      async prepare(ctx) {
        const [event] = await ctx.peek("email.received", { limit: 1 });
        if (!event) return { reservations: [], data: null };
        return {
          reservations: [{ topic: "email.received", ids: [event.messageId] }],
          data: { from: event.payload.from },
          ui: { title: "Add row for " + event.payload.from },
        };
      },
      async mutate(ctx, prepared) {
        await ctx.sheets.appendRow({ row: [prepared.data.from] });
      },
      async next(ctx, prepared, mutationResult) {
        if (mutationResult.status === "applied") {
          await ctx.publish("row.created", {
            messageId: prepared.reservations[0].ids[0],
            title: "Row for " + prepared.data.from,
            payload: mutationResult.result,
          });
        }
      },
    }),
  },
});
`

// check describes a script and checks its definition, as a deploy does.
func check(t *testing.T, code string) []sandbox.Problem {
	t.Helper()
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "invoices.ts", Code: code})
	if err != nil {
		t.Fatal(err)
	}
	_, problems = checked(deploy.Input{Definition: definition, Found: problems, Catalog: catalog(t)})
	return problems
}

func TestAFlawlessScriptHasNoProblems(t *testing.T) {
	if problems := check(t, flawless); len(problems) != 0 {
		t.Errorf("%+v", problems)
	}
}

// TestMistakesOfLanguageModels: what they typically write is found where it stands, and the fix names
// the correction. The first problem is listed; what only follows from it may come after.
func TestMistakesOfLanguageModels(t *testing.T) {
	for _, m := range []struct {
		name       string
		instead    string // of this part of the flawless script …
		wrong      string // … this is written
		problem    string // severity code@line:column
		correction string // a part of the fix
	}{
		{
			"imports the library", "export default", "import { Pawl } from \"pawl\";\nexport default",
			"error script.import@1:22", "Pawl and ctx are given without an import",
		},
		{
			"requires a package", "export default", "const axios = require(\"axios\");\nexport default",
			"error script.import@1:23", "ctx.<connector>.<operation>",
		},
		{
			"exports the CommonJS way", "export default", "module.exports =", "error shape.default@1:1",
			"export default Pawl.workflow({",
		},
		{
			"uses another name for Pawl", "export default Pawl.workflow", "export default pawl.workflow",
			"error script.threw@1:16", "write Pawl",
		},
		{"exports a bare object", "Pawl.workflow({", "({", "error shape.default@0:0", "export default Pawl.workflow({"},
		{"puts spaces into a name", `name: "invoices"`, `name: "My Invoices"`, "error name.workflow@2:3", `"My-Invoices"`},
		{
			"lists topics as an array", `topics: { "email.received": {}, "row.created": {} }`,
			`topics: ["email.received", "row.created"]`, "error shape.topics@3:3",
			`topics: { "email.received": {}, "row.created": {} }`,
		},
		{
			"puts a slash into a topic", `"row.created": {} }`, `"row.created": {}, "row/old": {} }`,
			"error name.topic@3:54", `"row-old"`,
		},
		{"names a handler with a dash", "    poll: {", "    \"poll-mail\": {", "error name.handler@5:5", `"pollMail"`},
		{
			"writes the interval in words", `interval: "5m"`, `interval: "every 5 minutes"`,
			"error schedule.invalid@6:7", `interval: "5m"`,
		},
		{
			"writes the interval as a number", `interval: "5m"`, `interval: 300000`, "error shape.producer@6:7",
			`interval: "5m"`,
		},
		{
			"calls the interval schedule", `interval: "5m"`, `schedule: "5m"`, "warning shape.unknownKey@6:7",
			"rename schedule to interval",
		},
		{
			"puts cron into interval", `interval: "5m"`, `interval: "*/5 * * * *"`, "error schedule.invalid@6:7",
			`cron: "*/5 * * * *"`,
		},
		{
			"writes cron with seconds", `cron: "0 2 * * *"`, `cron: "0 0 2 * * *"`, "error schedule.invalid@20:16",
			`cron: "0 2 * * *"`,
		},
		{
			"abbreviates the zone", `timezone: "Europe/Berlin"`, `timezone: "Berlin"`, "error schedule.invalid@20:35",
			`timezone: "Europe/Berlin"`,
		},
		{
			"misspells a topic in publishes", `publishes: ["email.received"]`, `publishes: ["email.recieved"]`,
			"error topic.unknown@7:19", `write "email.received"`,
		},
		{
			"misspells a topic in subscribe", `subscribe: ["email.received"]`, `subscribe: ["emails.received"]`,
			"error topic.unknown@24:19", `write "email.received"`,
		},
		{
			"subscribes with a text", `subscribe: ["email.received"]`, `subscribe: "email.received"`,
			"error shape.consumer@24:7", `subscribe: ["email.received"]`,
		},
		{
			"calls subscribe topic", `subscribe: ["email.received"]`, `topics: ["email.received"]`,
			"error shape.consumer@23:5", "rename topics to subscribe",
		},
		{
			"misspells prepare", "async prepare(ctx)", "async preprare(ctx)", "error shape.consumer@23:5",
			"rename preprare to prepare",
		},
		{
			"publishes to an undeclared topic", `ctx.publish("row.created"`, `ctx.publish("row.added"`,
			"error topic.unknown@40:29", `topics: { "row.added": {} }`,
		},
		{"publishes an id", "messageId: mail.id", "id: mail.id", "error publish.invalid@11:47", "rename id to messageId"},
		{
			"publishes data", "payload: { from: mail.from }", "data: { from: mail.from }",
			"warning publish.unknownMember@14:13", "rename it to payload",
		},
		{
			"publishes the topic in the event", `ctx.publish("email.received", {`, `ctx.publish({ topic: "email.received",`,
			"error publish.invalid@11:17", `ctx.publish("email.received", {`,
		},
		{
			"gives every event one title", `title: "Email from " + mail.from`, `title: "New email"`,
			"warning title.constant@13:13", "title: `New email ${…}`",
		},
		{
			"makes messageId random", "messageId: mail.id", "messageId: crypto.randomUUID()",
			"warning publish.messageIdRandom@12:13", "messageId: item.id",
		},
		{
			"forgets await", "const mails = await ctx", "const mails = ctx", "warning call.notAwaited@9:23",
			"await ctx.mail.search(…)",
		},
		{
			"reads in forEach", "return { cursor: mails.last };",
			"mails.list.forEach(async (mail) => { await ctx.mail.fetch({ id: mail.id }); });",
			"warning call.notAwaited@17:20", "for (const item of items) { await ctx.mail.fetch(…) }",
		},
		{
			"emits", `ctx.publish("row.created"`, `ctx.emit("row.created"`, "error connector.unknown@40:21",
			`ctx.publish("topic"`,
		},
		{
			"looks for the state in ctx", "after: state?.cursor", "after: ctx.state.cursor",
			"error connector.unknown@9:54", "async prepare(ctx, state)",
		},
		{
			"remembers in a global", "return { cursor: mails.last }", "globalThis.cursor = mails.last",
			"warning global.shared@17:20", "handler's state",
		},
		{
			"fetches", "await ctx.mail.search({ after: state?.cursor })", `await fetch("https://example.com")`,
			"warning global.absent@9:29", "ctx.<connector>.<operation>",
		},
		{"sleeps", `ctx.log("good night")`, "setTimeout(() => {}, 1000)", "warning global.absent@20:83", "wakeAt"},
		{
			"reads the environment", `ctx.log("good night")`, "ctx.log(process.env.TOKEN)",
			"warning global.absent@20:91", "configuration of a connector",
		},
		{
			"misspells a connector", "ctx.sheets.appendRow", "ctx.sheet.appendRow", "error connector.unknown@36:15",
			"did you mean sheets",
		},
		{
			"misspells an operation", "ctx.sheets.appendRow", "ctx.sheets.addRow", "error operation.unknown@36:15",
			"ctx.sheets.appendRow",
		},
		{
			"changes something in prepare", "if (!event)", `await ctx.mail.send({ to: "a" }); if (!event)`,
			"error phase.forbidden@28:15", "call it in mutate",
		},
		{
			"changes something in next", "if (mutationResult", `await ctx.mail.send({ to: "a" }); if (mutationResult`,
			"error phase.forbidden@39:15", "call it in mutate",
		},
		{
			"searches in mutate", "await ctx.sheets", "await ctx.mail.search({}); await ctx.sheets",
			"error phase.forbidden@36:15", "do it in prepare",
		},
		{
			"reads in mutate", "await ctx.sheets", `await ctx.mail.fetch({ id: "1" }); await ctx.sheets`,
			"error phase.forbidden@36:15", `mutateReads: "byId" on record`,
		},
		{
			"publishes in mutate", "await ctx.sheets.appendRow({ row: [prepared.data.from] })",
			`await ctx.publish("row.created", { messageId: "1", title: "Row 1" })`, "error phase.forbidden@36:19",
			"move it to next",
		},
		{
			"peeks in next", "if (mutationResult", `await ctx.peek("email.received"); if (mutationResult`,
			"error phase.forbidden@39:19", "only prepare may read topics",
		},
		{
			"peeks at another topic", `ctx.peek("email.received"`, `ctx.peek("row.created"`,
			"error topic.notSubscribed@27:40", `subscribe: ["email.received", "row.created"]`,
		},
		{"peeks with a number", "{ limit: 1 }", "1", "error call.params@27:58", "{ limit: 1 }"},
		{
			"returns null from prepare", "return { reservations: [], data: null }", "return null",
			"error prepare.result@28:28", "return { reservations: [], data: null }",
		},
		{
			"reserves ids alone", `[{ topic: "email.received", ids: [event.messageId] }]`,
			"[event.messageId]", "warning prepare.reservations@30:26", `{ topic: "email.received", ids: [event.messageId] }`,
		},
		{
			"reserves one id", "ids: [event.messageId]", "id: event.messageId", "warning prepare.reservations@30:26",
			"replace id by ids: [event.messageId]",
		},
		{
			"forgets ui.title", `ui: { title: "Add row for " + event.payload.from },`, "",
			"warning ui.title@29:16", "ui: { title:",
		},
		{
			"takes data of the wrong object", "row: [prepared.data.from]", "row: [prepared.from]",
			"warning prepared.unknown@36:53", "prepared.data.from",
		},
		{
			"calls in a loop", "await ctx.sheets", "for (const x of prepared.data.from) await ctx.sheets",
			"warning mutate.loop@36:51", "reserve one event in prepare",
		},
		{
			"calls twice", "prepared.data.from] });", `prepared.data.from] }); await ctx.mail.send({ to: "a" });`,
			"warning mutate.secondCall@36:74", "consumer that subscribes",
		},
		{
			"goes on after the call", "prepared.data.from] });", `prepared.data.from] }); ctx.log("done");`,
			"warning mutate.codeAfter@36:68", "move it to next",
		},
		{
			"catches a failed call",
			"await ctx.sheets.appendRow({ row: [prepared.data.from] });",
			"try { await ctx.sheets.appendRow({}); } catch (e) { ctx.log(e); }", "warning call.catch@36:9",
			"remove the catch",
		},
		{
			"asks for success", `mutationResult.status === "applied"`, `mutationResult.status === "success"`,
			"warning mutationResult.unknown@39:39", `write "applied"`,
		},
		{
			"forgets the third parameter", "next(ctx, prepared, mutationResult)", "next(ctx, prepared)",
			"warning global.unknown@39:13", "async next(ctx, prepared, mutationResult)",
		},
		{
			"hands parameters one by one", "ctx.mail.search({ after: state?.cursor })", `ctx.mail.search("unread", 10)`,
			"error call.params@9:55", "ctx.mail.search({ … })",
		},
	} {
		t.Run(m.name, func(t *testing.T) {
			if strings.Count(flawless, m.instead) == 0 {
				t.Fatalf("the script has no %s", m.instead)
			}
			problems := check(t, strings.Replace(flawless, m.instead, m.wrong, 1))
			i := slices.IndexFunc(problems, func(p sandbox.Problem) bool {
				return fmt.Sprintf("%s %s@%d:%d", p.Severity, p.Code, p.Line, p.Column) == m.problem &&
					strings.Contains(p.Fix, m.correction)
			})
			if i < 0 {
				t.Errorf("want %s with a fix that says %q, got", m.problem, m.correction)
				for _, p := range problems {
					t.Errorf("  %s %s@%d:%d %s\n      fix: %s", p.Severity, p.Code, p.Line, p.Column, p.Message, p.Fix)
				}
			}
			for _, p := range problems {
				if p.Message == "" || p.Fix == "" {
					t.Errorf("%s without a message or a fix", p.Code)
				}
			}
		})
	}
}

// TestOnlyMutationsEndAMutate: a read in mutate is refused, and is no mutation call after which others
// are never sent.
func TestOnlyMutationsEndAMutate(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		byID bool
		want []string
	}{
		"two reads": {
			"await ctx.mail.search({});\nawait ctx.mail.fetch({ id: 'x' });", false,
			[]string{"phase.forbidden@1", "phase.forbidden@2"},
		},
		"reads, then a mutation": {
			"await ctx.mail.search({});\nawait ctx.mail.fetch({ id: 'x' });\nawait ctx.sheets.appendRow({ row: [] });",
			false, []string{"phase.forbidden@1", "phase.forbidden@2"},
		},
		"reads by id, then code": {
			"const a = await ctx.mail.fetch({ id: 'x' });\nif (!a) return;\nawait ctx.sheets.appendRow({ row: [] });\n" +
				"const b = 1;",
			true, []string{"mutate.codeAfter@4"},
		},
		"a read behind the mutation": {
			"await ctx.sheets.appendRow({ row: [] });\nawait ctx.mail.fetch({ id: 'x' });", true, []string{"mutate.codeAfter@2"},
		},
		"a read in a loop": {
			"for (const id of ['x']) {\nawait ctx.mail.fetch({ id });\n}\nawait ctx.sheets.appendRow({ row: [] });", true, nil,
		},
		"mutations": {
			"await ctx.sheets.appendRow({ row: [] });\nawait ctx.mail.fetch({ id: 'x' });\n" +
				"await ctx.sheets.appendRow({ row: [1] });\nawait ctx.sheets.appendRow({ row: [2] });",
			true, []string{"mutate.secondCall@3"},
		},
		"reads and mutations at once": {
			"await Promise.all([ctx.mail.fetch({ id: 'x' }),\nctx.sheets.appendRow({ row: [] }),\n" +
				"ctx.sheets.appendRow({ row: [1] })]);",
			true, []string{"mutate.secondCall@3"},
		},
		"a read in a try": {
			"try {\nawait ctx.mail.fetch({ id: 'x' });\n} finally {\nctx.log(1);\n}\nawait ctx.sheets.appendRow({ row: [] });",
			true, nil,
		},
		"an unknown connector": {
			"await ctx.unheard.one({});\nawait ctx.unheard.two({});", false,
			[]string{"connector.unknown@1", "connector.unknown@2", "mutate.secondCall@2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := "await ctx.sheets.appendRow({ row: [prepared.data.from] });"
			code := strings.Replace(flawless, old, c.body, 1)
			if c.byID {
				code = strings.Replace(code, `publishes: ["row.created"],`, `publishes: ["row.created"], mutateReads: "byId",`, 1)
			}
			first := 1 + strings.Count(flawless[:strings.Index(flawless, old)], "\n")
			var got []string
			for _, p := range check(t, code) {
				got = append(got, fmt.Sprintf("%s@%d", p.Code, p.Line-first+1))
				if strings.HasPrefix(p.Code, "mutate.") && strings.Contains(p.Message, "ctx.mail.") {
					t.Errorf("a read is taken for a mutation: %s", p.Message)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestAllMistakesAreSaidAtOnce: what is wrong with one member hides nothing that is wrong with another,
// and nothing is said that only follows from it.
func TestAllMistakesAreSaidAtOnce(t *testing.T) {
	others := []struct{ old, with, code string }{
		{`name: "invoices"`, `name: "my invoices"`, "name.workflow"},
		{`"row.created": {} }`, `"row.created": {}, "bad topic": {} }`, "name.topic"},
		{`cron: "0 2 * * *"`, `cron: "0 25 * * *"`, "schedule.invalid"},
		{`ctx.log("good night");`, `await ctx.sheets.appendRow({ row: [] });`, "phase.forbidden"},
		{
			"\n    }),\n  },\n});",
			"\n    }),\n    again: Pawl.consumer({ subscribe: [\"email.received\"], " +
				"async prepare() { return { reservations: [], data: null }; } }),\n  },\n});",
			"topic.twoConsumers",
		},
	}
	for _, spoilt := range []struct {
		old, with, code string
		hides           []string // what is about the same member
	}{
		{
			`      publishes: ["row.created"],` + "\n", "      publishes: [\"row.created\"], maxAttempts: -1,\n",
			"shape.consumer", nil,
		},
		{`      publishes: ["row.created"],` + "\n", "      publishes: \"row.created\",\n", "shape.consumer", nil},
		{
			`      publishes: ["row.created"],` + "\n", "      publishes: [\"row.created\"], mutateReads: 5,\n",
			"shape.consumer", nil,
		},
		{
			`await ctx.sheets.appendRow({ row: [prepared.data.from] });` + "\n      },\n",
			"await ctx.mail.fetch({ id: \"x\" });\n      },\n      mutateReads: \"byID\",\n",
			"shape.consumer", nil,
		},
		{`      subscribe: ["email.received"],` + "\n", "", "shape.consumer", []string{"topic.twoConsumers"}},
		{
			`      subscribe: ["email.received"],` + "\n", "      subscribe: \"email.received\",\n",
			"shape.consumer", []string{"topic.twoConsumers"},
		},
		{`interval: "5m"`, `interval: 5`, "shape.producer", nil},
		{`interval: "5m"`, `interval: 5, timezone: "nowhere"`, "shape.producer", nil},
		{`interval: "5m"`, `interval: "5m", cron: "* * * * *"`, "shape.producer", nil},
		{`async handler(ctx, state) {`, `async handle(ctx, state) {`, "shape.producer", nil},
		{`timezone: "Europe/Berlin",`, `timezone: 1,`, "shape.producer", []string{"schedule.invalid"}},
		{`name: "invoices",`, ``, "shape.name", []string{"name.workflow"}},
		{
			`topics: { "email.received": {}, "row.created": {} },`, `topics: ["email.received", "row.created"],`,
			"shape.topics", []string{"name.topic"},
		},
		{`    nightly: {`, "    wrong: 5,\n    nightly: {", "shape.producer", nil},
		{`    record: Pawl`, "    wrong: 5,\n    record: Pawl", "shape.consumer", nil},
		{`    record: Pawl`, "    wrong() {},\n    \"2nd\": 5,\n    record: Pawl", "shape.consumer", nil},
	} {
		t.Run(spoilt.with, func(t *testing.T) {
			code := strings.Replace(flawless, spoilt.old, spoilt.with, 1)
			alone := codesOf(check(t, code))
			for _, code := range alone {
				if !strings.HasPrefix(code, "shape.") && code != "name.handler" {
					t.Errorf("alone it is said to be %v", alone)
				}
			}
			want := alone
			for _, other := range others {
				if slices.Contains(spoilt.hides, other.code) && !strings.Contains(code, other.old) {
					continue
				}
				code = strings.Replace(code, other.old, other.with, 1)
				if !slices.Contains(spoilt.hides, other.code) {
					want = append(want, other.code)
				}
			}
			got := codesOf(check(t, code))
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Contains(alone, spoilt.code) || !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func codesOf(problems []sandbox.Problem) (codes []string) {
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	return codes
}

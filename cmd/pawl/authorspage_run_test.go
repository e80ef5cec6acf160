package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// Every piece of code on the page is one that a test runs: those under a recipe's number by the tests of recipes, the
// others here. Code that is added belongs in this list together with what runs it.
func TestAuthorsPageCodeRuns(t *testing.T) {
	t.Parallel()
	recipes := map[string]string{"2": "ts sh http", "3": "ts sh", "8": "ts sh", "10": "ts sh",
		"11": "yaml ts sh"}
	for n := range 15 {
		if number := fmt.Sprint(n + 1); recipes[number] == "" {
			recipes[number] = "ts"
		}
	}
	others := map[string]string{
		"What a workflow is": "ts sh", // TestAuthorsPageFirstWorkflow
		"Limits":             "yaml",  // TestAuthorsPageConfiguration
		"Fifteen recipes":    "yaml",  // TestAuthorsPageConfiguration

		"Types in your editor": "ts",         // TestAuthorsPageTypes
		"Tests":                "ts yaml sh", // TestAuthorsPageTests

		"Count every refusal":              "ts",         // TestAuthorsPageRefusals
		"Serial or concurrent?":            "ts",         // TestAuthorsPageConcurrent
		"Hooks: requests of other systems": "ts yaml sh", // TestAuthorsPageHooks
	}
	for _, part := range pageParts(t) {
		var languages []string
		for _, b := range part.blocks {
			languages = append(languages, b.language)
		}
		number, _, _ := strings.Cut(part.heading, ". ")
		want := recipes[number] + others[part.heading]
		delete(recipes, number)
		delete(others, part.heading)
		if got := strings.Join(languages, " "); got != want {
			t.Errorf("%q holds code in %q; tests run %q", part.heading, got, want)
		}
	}
	if len(recipes)+len(others) > 0 {
		t.Errorf("the page lacks %v, %v", recipes, others)
	}
}

// The first workflow of the page is valid, and its commands make a row of each file.
func TestAuthorsPageFirstWorkflow(t *testing.T) {
	t.Parallel()
	part := pagePartOf(t, "What a workflow is")
	dir := place(t, map[string]string{
		"notes.ts": part.code(t, "ts"), "inbox/a.txt": "alpha", "inbox/b.txt": "be", "sheets/.keep": "",
	})
	commands := part.commands(t)
	if out := mustRun(t, dir, 0, "pawl", strings.Fields(commands[0])[1:]...); strings.Contains(out, "warning") {
		t.Errorf("%s: %s", commands[0], out)
	}
	mustRun(t, dir, 0, "pawl", append(strings.Fields(commands[1])[1:], "--until-idle")...)
	rows := read(t, filepath.Join(dir, "sheets", "notes.csv"))
	if !regexp.MustCompile(`\Aname,size,_pawl\na\.txt,5,\S+\nb\.txt,2,\S+\n\z`).MatchString(rows) {
		t.Errorf("rows:\n%s", rows)
	}
}

// The typed workflow of the page is valid, and does what its types say.
func TestAuthorsPageTypes(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"sales.ts": pagePartOf(t, "Types in your editor").code(t, "ts"), "sheets/.keep": ""})
	if out := mustRun(t, dir, 0, "pawl", "validate", "sales.ts"); strings.Contains(out, "warning") {
		t.Error(out)
	}
	d := startDaemon(t, dir, "pawl", "up", "sales.ts", "--csv", "./sheets")
	d.await(`^all caught up`)
	for _, id := range []string{"1", "2"} {
		mustRun(t, dir, 0, "pawl", "push", "sales", "sale.closed", "--id", id, "--title", "Sale "+id,
			`{"customer": "Ann", "total": 20}`)
		d.await(`^sales .*Book ` + id + ` → sales\.csv row ` + id + `$`)
	}
	d.stop()
	rows := read(t, filepath.Join(dir, "sheets", "sales.csv"))
	if !regexp.MustCompile(`\Acustomer,total,sum,_pawl\nAnn,20,20,\S+\nAnn,20,40,\S+\n\z`).MatchString(rows) {
		t.Errorf("rows:\n%s", rows)
	}
}

// The tests of the page are those of the typed workflow, and pass; so do those of the bundled examples.
func TestAuthorsPageTests(t *testing.T) {
	long(t)
	t.Parallel()
	part := pagePartOf(t, "Tests")
	dir := place(t, map[string]string{
		"sales.ts":        pagePartOf(t, "Types in your editor").code(t, "ts"),
		"sales.test.ts":   part.code(t, "ts"),
		"sales.test.yaml": part.code(t, "yaml"),
	})
	out := mustRun(t, dir, 0, "pawl", strings.Fields(part.commands(t)[0])[1:]...)
	if !strings.Contains(out, "sales.ts: 100 % of") || !strings.HasSuffix(out, "4 passed, 0 failed\n") {
		t.Errorf("it says\n%s", out)
	}
	for _, example := range []string{"mail-to-sheet", "webhook-to-chat"} {
		dir := place(t, map[string]string{
			example + ".ts":      read(t, "example/"+example+".ts"),
			example + ".test.ts": read(t, "example/"+example+".test.ts"),
		})
		if out := mustRun(t, dir, 0, "pawl", "test"); !strings.Contains(out, ".ts: 100 % of") {
			t.Errorf("%s: %s", example, out)
		}
	}
}

// What the page shows as configuration is one: the hosts of the recipes, and the defaults of the limits.
func TestAuthorsPageConfiguration(t *testing.T) {
	t.Parallel()
	load := func(heading string) config.File {
		path := filepath.Join(t.TempDir(), config.FileName)
		if err := os.WriteFile(path, []byte(pagePartOf(t, heading).code(t, "yaml")), 0o600); err != nil {
			t.Fatal(err)
		}
		conf := config.Reader{Env: variables(map[string]string{"API_TOKEN": "x"})}
		c, err := config.LoadFile(path, true, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Expand(conf.Env); err != nil {
			t.Error(err)
		}
		return c
	}
	if got := load("Limits").Policies; got != schedule.Default() {
		t.Errorf("policies %+v\nwant %+v", got, schedule.Default())
	}
	hosts := load("Fifteen recipes").Connectors.HTTP.Hosts
	var named []string
	for name := range hosts {
		named = append(named, name)
	}
	slices.Sort(named)
	if !slices.Equal(named, recipeHosts) || hosts["api.example.com"].Headers["Authorization"] != "Bearer x" {
		t.Errorf("hosts %+v", hosts)
	}
}

// onePeeked is how the page's first workflow reserves one event, and allPeeked how it could look at all of them.
const (
	onePeeked = `const [file] = await ctx.peek("file.found", { limit: 1 });
        if (!file) return { reservations: [], data: null };
        return {
          reservations: [{ topic: "file.found", ids: [file.id] }],`
	allPeeked = `const files = await ctx.peek("file.found");
        const [file] = files;
        if (!file) return { reservations: [], data: null };
        return {
          reservations: [{ topic: "file.found", ids: [file.id] }],`
)

// mistakes are changes of the page's first workflow, one for each code that the page lists: the text that is
// replaced, and its replacement.
var mistakes = map[string][2]string{
	"script.syntax":     {`topics: {`, `topics: `},
	"script.import":     {`export default`, "import axios from \"axios\";\naxios;\nexport default"},
	"shape.default":     {`export default Pawl.workflow({`, `export default ({`},
	"shape.consumer":    {`subscribe: ["file.found"],`, ``},
	"shape.producer":    {`interval: "1m",`, `interval: "1m", cron: "0 8 * * *",`},
	"shape.unknownKey":  {`interval: "1m",`, `interval: "1m", runAtDeploy: true,`},
	"shape.concurrency": {`subscribe: ["file.found"],`, `subscribe: ["file.found"], concurrency: 1000,`},
	"concurrency.state": {
		"subscribe: [\"file.found\"],\n      async prepare(ctx) {",
		`subscribe: ["file.found"], concurrency: 2, async prepare(ctx, state) { ctx.log(state);`,
	},
	"concurrency.key":     {`subscribe: ["file.found"],`, `subscribe: ["file.found"], concurrency: 2, key: "file.name",`},
	"shape.hook":          hooked(`id: "{hash}", title: "t"`),
	"hook.verify":         hooked(`verify: { scheme: "gitlab", secret: "S" }, id: "{hash}", title: "t"`),
	"hook.template":       hooked(`verify: "none", id: "same", title: "t"`),
	"hook.headers":        hooked(`verify: "none", id: "{hash}", title: "t", headers: ["Authorization"]`),
	"hook.respond":        hooked(`verify: "none", id: "{hash}", title: "t", respond: { status: 500 }`),
	"secret.unknown":      hooked(`verify: { scheme: "github", secret: "X" }, id: "{hash}", title: "t"`),
	"vars.unknown":        {`async handler(ctx) {`, `async handler(ctx) { ctx.log(ctx.vars.gone);`},
	"secret.notGranted":   hooked(`verify: { scheme: "github", secret: "S" }, id: "{hash}", title: "t"`),
	"name.workflow":       {`name: "notes"`, `name: "my notes"`},
	"schedule.invalid":    {`interval: "1m"`, `interval: "a minute"`},
	"topic.unknown":       {`ctx.publish("file.found"`, `ctx.publish("file.fuond"`},
	"topic.notSubscribed": {`await ctx.peek("file.found"`, `await ctx.peek("file.lost"`},
	"topic.twoConsumers": {
		`  consumers: {`,
		`  consumers: { other: { subscribe: ["file.found"], prepare() { return { reservations: [], data: null }; } },`,
	},
	"connector.unknown": {`ctx.files.list(`, `ctx.ftp.list(`},
	"connector.dynamic": {`const { entries }`, `ctx.log(ctx.files[ctx.hash("x")]); const { entries }`},
	"ctx.assigned":      {`async handler(ctx) {`, `async handler(ctx) { ctx.state = 1;`},
	"operation.unknown": {`ctx.files.list(`, `ctx.files.dir(`},
	"call.params":       {`pattern: "*.txt"`, `pattern: 5`},
	"call.stringified":  {`values: data });`, `values: JSON.stringify(data) });`},
	"next.unguarded":    {`outcome) {`, `outcome) { ctx.log(data.name);`},
	"phase.forbidden": {
		`async next(ctx, { data }, outcome) {`, `async next(ctx, { data }, outcome) { await ctx.peek("file.found");`,
	},
	"mutate.codeAfter": {`values: data });`, `values: data }); ctx.log("done");`},
	"mutate.secondCall": {
		`values: data });`,
		`values: data }); await ctx.csv.appendRow({ file: "more.csv", header: ["name", "size"], values: data });`,
	},
	"move.nameAlone": {
		`ctx.csv.appendRow({ file: "notes.csv", header: ["name", "size"], values: data })`,
		"ctx.files.move({ from: data.name, to: `done/${data.name}` })",
	},
	"approval.result": {`async prepare(ctx) {`, `approval: async () => true, async prepare(ctx) {`},
	"mutate.loop":     {`await ctx.csv`, `for (const more of [1, 2]) await ctx.csv`},
	"call.notAwaited": {`await ctx.publish(`, `ctx.publish(`},
	"call.catch": {
		`const [file] = await ctx.peek("file.found", { limit: 1 });`,
		`const [file] = await ctx.peek("file.found", { limit: 1 }).catch(() => []);`,
	},
	"publish.invalid":       {`messageId: name,`, ``},
	"publish.unknownMember": {`payload: { name, size }`, `payload: { name, size }, subject: name`},
	"input.invalid": {
		`async handler(ctx) {`, `async handler(ctx) { ctx.registerInput({ source: "disk", id: "1", title: "One" });`,
	},
	"publish.messageIdRandom": {`messageId: name,`, `messageId: crypto.randomUUID(),`},
	"title.constant":          {"title: `File ${name}`", `title: "A file"`},
	"prepare.unknownMember":   {"ui: { title: `Row for ${file.id}` },", "title: `Row for ${file.id}`,"},
	"prepared.unknown":        {`async mutate(ctx, { data }) {`, `async mutate(ctx, { data, file }) { ctx.log(file);`},
	"prepare.result":          {`return { reservations: [], data: null };`, `return;`},
	"prepare.reservations":    {`reservations: [{ topic: "file.found", ids: [file.id] }]`, `reservations: [file.id]`},
	"prepare.wakeAt": {
		`return { reservations: [], data: null };`, `return { reservations: [], data: null, wakeAt: ctx.now() + 1000 };`,
	},
	"mutationResult.unknown":    {`outcome.result.row`, `outcome.row`},
	"handler.parameter":         {`outcome) {`, `outcome, state) {`},
	"ui.title":                  {"ui: { title: `Row for ${file.id}` },", ``},
	"result.unknown":            {`const { entries }`, `const { items: entries }`},
	"publish.messageIdConstant": {`messageId: name,`, `messageId: "file",`},
	"publish.messageIdRepeats":  {`messageId: name,`, `messageId: String(entries),`},
	"publish.stringified":       {`payload: { name, size }`, `payload: JSON.stringify({ name, size })`},
	"event.unknown":             {`data: file.payload,`, `data: { name: file.name },`},
	"event.list":                {`const [file] = await ctx.peek`, `const file = await ctx.peek`},
	"payload.unknown":           {`data: file.payload,`, `data: { name: file.payload.path },`},
	"data.unknown":              {`data: file.payload,`, `data: { size: file.payload.size },`},
	"state.neverReturned":       {`async handler(ctx) {`, `async handler(ctx, state) { ctx.log(state?.after);`},
	"state.neverRead":           {"${outcome.result.row}`);", "${outcome.result.row}`); return { last: data.name };"},
	"state.unknown": {
		`async handler(ctx) {`, `async handler(ctx, state) { if (state?.last) return { before: state.before };`,
	},
	"reservation.wider": {onePeeked, strings.Replace(allPeeked, "[file.id]", "files.map((f) => f.id)", 1)},
	"reservation.narrower": {
		onePeeked + "\n          data: file.payload,", allPeeked + "\n          data: files.map((f) => f.payload),",
	},
	"reservation.half": {
		"subscribe: [\"file.found\"],\n      async prepare(ctx) {\n        " + onePeeked + "\n          data: file.payload,",
		"subscribe: [\"file.found\", \"more\"],\n      async prepare(ctx) {\n        " +
			"const [more] = await ctx.peek(\"more\");\n        " + onePeeked + "\n          data: { name: more.payload },",
	},
	"reservation.unknown": {`reservations: [{ topic: "file.found"`, `reservations: [{ topic: "file.lost"`},
	"reservation.never":   {`subscribe: ["file.found"],`, `subscribe: ["file.found", "more"],`},
	"value.notJSON":       {`data: file.payload,`, `data: new Map(),`},
	"next.feedsItself": {
		`if (outcome.status`,
		`await ctx.publish("file.found", { messageId: data.name + "+", title: data.name }); if (outcome.status`,
	},
	"global.absent":  {`await ctx.publish(`, `await fetch("https://example.com"); await ctx.publish(`},
	"global.unknown": {`size } });`, `siez } });`},
	"global.shared":  {`const { entries }`, `count++; const { entries }`},
}

// hooked is the change that adds a hook.
func hooked(members string) [2]string {
	return [2]string{"  consumers: {",
		"  hooks: { h: Pawl.hook({ topic: \"file.found\", " + members + " }) },\n  consumers: {"}
}

// Each code on the page is what the validator says of such a mistake, and each mistake of the list is on the page.
func TestAuthorsPageMistakes(t *testing.T) {
	t.Parallel()
	part := pagePartOf(t, "What the validator finds")
	first := pagePartOf(t, "What a workflow is").code(t, "ts")
	registry, done, err := builtin.Alone(config.Connectors{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	codes := func(code string) (codes []string) {
		definition, problems, err := scripts.Describe(t.Context(), sandbox.Source{Filename: "notes.ts", Code: code})
		if err != nil {
			t.Fatal(err)
		}
		_, found := deploy.Check(deploy.Input{Definition: definition, Found: problems, Catalog: node.NewCatalog(registry),
			Secrets: []string{"S"}})
		for _, p := range found {
			codes = append(codes, p.Code)
		}
		return codes
	}
	if found := codes(first); len(found) > 0 {
		t.Errorf("without a mistake: %q", found)
	}
	listed := regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\|").FindAllStringSubmatch(part.prose, -1)
	if len(listed) != len(mistakes) {
		t.Errorf("the page lists %d codes, the test knows %d", len(listed), len(mistakes))
	}
	for _, row := range listed {
		mistake, known := mistakes[row[1]]
		wrong := strings.Replace(first, mistake[0], mistake[1], 1)
		if row[1] == "global.shared" {
			wrong = "let count = 0;\n" + wrong
		}
		if !known || wrong == first {
			t.Errorf("%s: the test makes no such mistake", row[1])
			continue
		}
		if found := codes(wrong); !slices.Contains(found, row[1]) {
			t.Errorf("%s: the validator finds %q", row[1], found)
		}
	}
}

// The page lists each code of package lint, but for two that are about the checks and not about a mistake.
func TestAuthorsPageListsEachCode(t *testing.T) {
	t.Parallel()
	codes := regexp.MustCompile(`(?m)^//\t([a-z]+\.[a-zA-Z]+) +\S+  +\S`).
		FindAllStringSubmatch(read(t, "../../sandbox/lint/doc.go"), -1)
	if len(codes) < 40 {
		t.Fatalf("package lint lists %d codes: %q", len(codes), codes)
	}
	prose := pagePartOf(t, "What the validator finds").prose
	for _, code := range codes {
		if about := code[1]; about == "script.problems" || about == "limit.checks" {
			continue
		}
		if !strings.Contains(prose, "\n| `"+code[1]+"` | ") {
			t.Errorf("the page does not list %s", code[1])
		}
	}
}

// The page links to what there is.
func TestAuthorsPageLinks(t *testing.T) {
	t.Parallel()
	for _, part := range pageParts(t) {
		for _, found := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(part.prose, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(authorsPage), filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%q links to %s: %v", part.heading, found[1], err)
			}
		}
	}
}

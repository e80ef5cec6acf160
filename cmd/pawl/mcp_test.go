package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modelClient is the SDK's client on `pawl mcp`, as a coding agent has it.
type modelClient struct {
	*mcp.ClientSession
	t *testing.T
}

// startModel connects a client to `pawl mcp` in a folder.
func startModel(t *testing.T, dir string, args ...string) modelClient {
	t.Helper()
	return connectModel(t, &mcp.CommandTransport{Command: command(t, dir, "pawl", append([]string{"mcp"}, args...)...)})
}

func connectModel(t *testing.T, transport mcp.Transport) modelClient {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "scripted", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // its process may be gone
	return modelClient{session, t}
}

// call calls a tool, and returns its answer, what it says beside it, and whether it is an error.
func (c modelClient) call(tool string, arguments any) (answer any, said string, failed bool) {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	var texts []string
	for _, content := range result.Content {
		texts = append(texts, content.(*mcp.TextContent).Text)
	}
	if !result.IsError {
		if err := json.Unmarshal([]byte(texts[0]), &answer); err != nil {
			c.t.Fatalf("%s answers %s", tool, texts[0])
		}
	}
	return answer, strings.Join(texts, "\n"), result.IsError
}

// must calls a tool that is to succeed.
func (c modelClient) must(tool string, arguments map[string]any) map[string]any {
	c.t.Helper()
	answer, said, failed := c.call(tool, arguments)
	object, ok := answer.(map[string]any)
	if failed || !ok {
		c.t.Fatalf("%s %v: %s", tool, arguments, said)
	}
	return object
}

// offered are the names of the tools.
func (c modelClient) offered() (names []string) {
	c.t.Helper()
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		if tool.Description == "" || tool.InputSchema == nil {
			c.t.Errorf("tool %s says too little", tool.Name)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// holds says where an answer lacks what a page shows of it.
func holds(answer, shown any) error {
	switch shown := shown.(type) {
	case map[string]any:
		object, ok := answer.(map[string]any)
		if !ok {
			return fmt.Errorf("%v is no object", answer)
		}
		for name, want := range shown {
			if err := holds(object[name], want); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case []any:
		list, ok := answer.([]any)
		if !ok || len(list) < len(shown) {
			return fmt.Errorf("%v has not the items of %v", answer, shown)
		}
		for i, want := range shown {
			if err := holds(list[i], want); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
	default:
		if answer != shown {
			return fmt.Errorf("%v, want %v", answer, shown)
		}
	}
	return nil
}

// An agent does what the page says, step by step, and gets the answers that the page shows.
func TestAgentWorksAsItsPageSays(t *testing.T) {
	long(t)
	page := read(t, "MCP.md")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sheets"), 0o700); err != nil {
		t.Fatal(err)
	}
	engine := startDaemon(t, dir, "pawl", "serve", "--data", ".pawl", "--csv", "./sheets", "--clock=manual",
		"--clock-start=2026-03-01T08:00:00Z")
	model := startModel(t, dir)
	_, steps, found := strings.Cut(page, "\n## How an agent works\n")
	source := regexp.MustCompile("(?s)```ts\n(.*?)```").FindStringSubmatch(steps)
	if !found || source == nil {
		t.Fatal("the page has no steps, or no script")
	}
	script, calls, shows := source[1], 0, 0
	var answer any
	said := ""
	part := regexp.MustCompile("(?ms)^```(json|sh)\n(.*?)^```$|^> (.*?)$")
	for _, step := range part.FindAllStringSubmatch(steps, -1) {
		var block map[string]any
		switch {
		case step[3] != "":
			if shows++; !strings.Contains(said, step[3]) {
				t.Errorf("the answer does not say %q: %s", step[3], said)
			}
			continue
		case step[1] == "sh":
			words := strings.Fields(step[2])
			mustRun(t, dir, 0, words[0], words[1:]...)
			continue
		}
		if err := json.Unmarshal([]byte(step[2]), &block); err != nil {
			t.Fatalf("%s: %v", step[2], err)
		}
		tool, isCall := block["tool"].(string)
		if !isCall {
			if shows++; answer == nil {
				t.Errorf("nothing was answered for %s: %s", step[2], said)
			} else if err := holds(answer, block); err != nil {
				t.Errorf("the answer is not %s: %v", step[2], err)
			}
			continue
		}
		changes, _ := block["after"].(map[string]any)
		for before, after := range changes {
			changed := strings.Replace(script, before, after.(string), 1)
			if changed == script {
				t.Fatalf("there is no %q to change", before)
			}
			script = changed
		}
		arguments := block["arguments"].(map[string]any)
		if arguments["source"] == "@orders.ts" {
			arguments["source"] = script
		}
		mustRun(t, dir, 0, "pawl", "clock", "advance", "0s") // what is due is done before the agent looks
		calls++
		answer, said, _ = model.call(tool, arguments)
	}
	if calls < 10 || shows < 12 {
		t.Errorf("the page has %d calls, and shows %d answers", calls, shows)
	}
	if rows := strings.Count(read(t, filepath.Join(dir, "sheets", "orders.csv")), "\no-"); rows != 2 {
		t.Errorf("%d rows were written for two orders", rows)
	}
	engine.stop()
}

// The client of the SDK walks every tool and every resource, with the answers and the refusals of each.
func TestModelWalksEveryTool(t *testing.T) {
	long(t)
	dir, drops := t.TempDir(), dropping(t)
	settings := "connectors:\n  http:\n    hosts:\n      \"" + drops + "\": {private: true}\n" +
		"recordings: {w: {runs: 10}}\npolicies: {repair: {budget: 9}}\n"
	if err := os.WriteFile(filepath.Join(dir, "pawl.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, dir, "pawl", "serve", "--data", ".pawl", "--clock=manual", "--clock-start=2026-03-01T08:00:00Z")
	model := startModel(t, dir)
	all := []string{"deploy", "diff", "evidence", "list", "pause", "push", "record", "repair", "resolve", "resume", "show",
		"test", "validate", "why"}
	if got := model.offered(); !slices.Equal(got, all) {
		t.Errorf("offered: %v", got)
	}
	source := `export default Pawl.workflow({ name: "w", topics: { t: {} }, consumers: { c: Pawl.consumer({
  subscribe: ["t"],
  async prepare(ctx) {
    const [e] = await ctx.peek("t", { limit: 1 });
    if (!e) return { reservations: [], data: null };
    if (e.payload.bad) throw new Error("bad payload");
    ctx.log("seen " + e.id);
    return { reservations: [{ topic: "t", ids: [e.id] }], data: null };
  } }) } });`
	settle := func() { mustRun(t, dir, 0, "pawl", "clock", "advance", "0s") }
	model.must("validate", map[string]any{"source": source})
	tests := `export default Pawl.tests({
  one(t) { t.push("t", { messageId: "1", payload: {} }); t.expectLog("seen 1"); },
});`
	if found := model.must("test", map[string]any{"source": source, "tests": tests}); found["ok"] != true {
		t.Errorf("tests that hold: %v", found)
	}
	tests = "cases:\n  one:\n    - run\n    - expectLog: seen 1\n"
	if _, said, failed := model.call("test", map[string]any{"source": source, "tests": tests, "yaml": true}); failed ||
		!strings.Contains(said, `"line":4`) || !strings.Contains(said, "Next: correct the script or the test") {
		t.Errorf("tests that do not hold: %s", said)
	}
	if _, said, failed := model.call("test", map[string]any{"source": source, "tests": ""}); !failed ||
		!strings.Contains(said, "call test with both") {
		t.Errorf("no tests: %s", said)
	}
	model.must("deploy", map[string]any{"source": source, "filename": "w.ts"})
	if _, said, failed := model.call("deploy", map[string]any{"source": source, "expectedVersion": "7.0"}); !failed ||
		!strings.Contains(said, "Next: ") {
		t.Errorf("a deploy on another version: %s", said)
	}
	if _, said, failed := model.call("deploy", map[string]any{"source": "export default 1"}); !failed ||
		!strings.Contains(said, "script.refused") || !strings.Contains(said, "line ") {
		t.Errorf("a deploy of no workflow: %s", said)
	}
	in := map[string]any{"workflow": "w"}
	model.must("push", map[string]any{"workflow": "w", "topic": "t", "events": map[string]any{"messageId": "1",
		"title": "One", "payload": map[string]any{}}})
	settle()
	if _, said, failed := model.call("diff", map[string]any{"workflow": "w", "source": source}); failed ||
		!strings.Contains(said, "it does the same in all recorded runs, except what notCompared names") {
		t.Errorf("diff of the same script: %s", said)
	}
	calling := strings.Replace(source, "data: null };\n  } })", `data: 1 };
  }, async mutate(ctx) { await ctx.http.post({ url: "http://`+drops+`/" }); } })`, 1)
	if _, said, failed := model.call("diff", map[string]any{"workflow": "w", "source": calling}); failed ||
		!strings.Contains(said, `"new":1`) || !strings.Contains(said, "tell the person") {
		t.Errorf("diff of a script that calls: %s", said)
	}
	recorded := model.must("list", map[string]any{"kind": "runs", "workflow": "w", "order": "asc"})
	var named []any
	for _, item := range recorded["items"].([]any) {
		if run := item.(map[string]any); len(run["events"].([]any)) > 0 {
			named = append(named, run["id"])
		}
	}
	cases := model.must("record", map[string]any{"workflow": "w", "runs": named})
	found := model.must("test", map[string]any{"source": source, "tests": cases["yaml"], "yaml": true})
	if found["ok"] != true {
		t.Errorf("the recorded run as a test: %v", found)
	}
	if _, said, failed := model.call("record", map[string]any{"workflow": "w", "runs": []any{"none"}}); !failed ||
		!strings.Contains(said, "Next: ") {
		t.Errorf("a run that is not recorded: %s", said)
	}
	for _, kind := range []string{"workflows", "runs", "events", "jobs", "mutations", "inputs", "sessions"} {
		model.must("list", map[string]any{"kind": kind})
		if kind != "workflows" {
			model.must("list", map[string]any{"kind": kind, "workflow": "w"})
		}
	}
	runs := model.must("list", map[string]any{"kind": "runs", "workflow": "w", "limit": 1, "order": "asc"})
	run := runs["items"].([]any)[0].(map[string]any)["id"]
	if _, said, _ := model.call("list", map[string]any{"kind": "runs", "limit": 1}); !strings.Contains(said,
		"call list again") {
		t.Errorf("a list that goes on: %s", said)
	}
	inputs := model.must("list", map[string]any{"kind": "inputs", "workflow": "w"})
	for kind, more := range map[string]map[string]any{
		"workflow": {}, "source": {}, "grants": {}, "handlers": {}, "run": {"run": run}, "logs": {"run": run},
		"event": {"topic": "t", "messageId": "1"}, "job": {"topic": "t", "messageId": "1"},
		"input": {"input": inputs["items"].([]any)[0].(map[string]any)["id"]},
	} {
		more["kind"], more["workflow"] = kind, "w"
		model.must("show", more)
	}
	model.must("why", in)
	model.must("why", map[string]any{})
	if _, said, failed := model.call("evidence", in); !failed || !strings.Contains(said,
		"no run of workflow w has failed") {
		t.Errorf("evidence of nothing: %s", said)
	}
	model.must("push", map[string]any{"workflow": "w", "topic": "t", "events": map[string]any{"messageId": "2",
		"title": "Two", "payload": map[string]any{"bad": true}}})
	settle()
	if _, said, _ := model.call("why", in); !strings.Contains(said, "Next: call evidence with workflow w, then repair") {
		t.Errorf("why of a workflow in maintenance: %s", said)
	}
	model.must("evidence", in)
	if _, said, failed := model.call("repair", map[string]any{"workflow": "w", "source": "nothing"}); !failed ||
		!strings.Contains(said, "counts against the budget") {
		t.Errorf("a repair that is no script: %s", said)
	}
	mended := strings.Replace(source, "if (e.payload.bad) throw new Error(\"bad payload\");",
		`await ctx.http.get({ url: "http://`+drops+`/" });`, 1)
	if _, said, failed := model.call("repair", map[string]any{"workflow": "w", "source": mended}); !failed ||
		!strings.Contains(said, "repair") {
		t.Errorf("a repair that needs more than before: %s", said)
	}
	if _, said, failed := model.call("deploy", map[string]any{"source": source,
		"grants": map[string]any{"http.post": "allow"}}); !failed || !strings.Contains(said, "no parameter grants") {
		t.Errorf("a model gives itself grants: %s", said)
	}
	asking := strings.Replace(sends("http://"+drops), `subscribe: ["t"],`, `subscribe: ["t"], approval: "ask",`, 1)
	model.must("pause", in) // else its call would be waiting for the person before the next deploy
	model.must("deploy", map[string]any{"source": asking})
	if _, said, failed := model.call("deploy", map[string]any{"source": sends("http://" + drops)}); !failed ||
		!strings.Contains(said, "approval.kept") || !strings.Contains(said, "a person looks at the script") {
		t.Errorf("a model takes an approval away: %s", said)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.ts"), []byte(sends("http://"+drops)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, 0, "pawl", "deploy", "w.ts", "--grant", "http.post=allow")
	model.must("resume", in)
	settle()
	_, said, _ := model.call("why", in)
	if !strings.Contains(said, "call resolve with mutation") {
		t.Errorf("why of a call with an unknown outcome: %s", said)
	}
	mutations := model.must("list", map[string]any{"kind": "mutations", "workflow": "w"})
	mutation := mutations["items"].([]any)[0].(map[string]any)["id"]
	model.must("show", map[string]any{"kind": "mutation", "mutation": mutation})
	model.must("resolve", map[string]any{"mutation": mutation, "resolution": "did_happen"})
	if _, said, failed := model.call("resolve", map[string]any{"mutation": mutation, "resolution": "skip"}); !failed ||
		!strings.Contains(said, "resolve is for indeterminate ones only") {
		t.Errorf("resolved twice: %s", said)
	}
	model.must("pause", in)
	model.must("resume", in)
	for _, wrong := range []map[string]any{{"kind": "nothing"}, {"kind": "runs", "topic": "t"},
		{"kind": "run", "workflow": "w"}} {
		tool := "list"
		if wrong["kind"] == "run" {
			tool = "show"
		}
		if _, said, failed := model.call(tool, wrong); !failed || !strings.Contains(said, "Next: ") {
			t.Errorf("%v: %s", wrong, said)
		}
	}
	readResources(t, model)
	d.stop()
	if _, said, failed := model.call("why", in); !failed || !strings.Contains(said, "ask the person to start one") {
		t.Errorf("without an engine: %s", said)
	}
}

// dropping is the address of a server that takes each request, and closes the connection without an answer.
func dropping(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// sends is a workflow that posts each event of its topic to an address.
func sends(to string) string {
	return `export default Pawl.workflow({ name: "w", topics: { t: {} }, consumers: { c: Pawl.consumer({
  subscribe: ["t"],
  async prepare(ctx) {
    const [e] = await ctx.peek("t", { limit: 1 });
    const reservations = e ? [{ topic: "t", ids: [e.id] }] : [];
    return { reservations, data: e ? e.id : null, ui: { title: "Send " + e?.id } };
  },
  async mutate(ctx, { data }) { if (data) await ctx.http.post({ url: "` + to + `/", body: JSON.stringify({ id: data }) }); },
  }) } });`
}

// readResources reads each resource, and one of each template.
func readResources(t *testing.T, model modelClient) {
	t.Helper()
	resources := []string{"pawl://connectors/http", "pawl://log/w"}
	for resource, err := range model.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		resources = append(resources, resource.URI)
	}
	recipes := 0
	for _, uri := range resources {
		read, err := model.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(read.Contents) != 1 || len(read.Contents[0].Text) < 100 {
			t.Errorf("%s: %+v, %v", uri, read, err)
		}
		if strings.HasPrefix(uri, "pawl://guide/recipe-") {
			recipes++
		}
	}
	if recipes != 15 {
		t.Errorf("%d recipes are offered", recipes)
	}
	if _, err := model.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "pawl://connectors/none"}); err == nil {
		t.Error("a connector that is not there can be read")
	}
}

// A caller is offered what its role covers, and nothing else; over HTTP each request brings its own token.
func TestModelHasTheRoleOfItsToken(t *testing.T) {
	long(t)
	dir := t.TempDir()
	d := startDaemon(t, dir, "pawl", "serve", "--data", ".pawl")
	reading := []string{"evidence", "list", "show", "test", "validate", "why"}
	all := []string{"deploy", "diff", "evidence", "list", "pause", "push", "record", "repair", "resolve", "resume", "show",
		"test", "validate", "why"}
	over := spawn(t, command(t, dir, "pawl", "mcp", "--listen", "127.0.0.1:0"))
	line := regexp.MustCompile(`offering tools to models on (http\S+)`)
	if !over.waitFor(line, longest) {
		t.Fatal(over.text())
	}
	address := line.FindStringSubmatch(over.text())[1]
	for role, want := range map[string][]string{"viewer": reading, "ingest": {"push"}, "operator": all} {
		var made struct{ Token string }
		text := mustRun(t, dir, 0, "pawl", "tokens", "create", role, "--role", role, "--json")
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, dir, "pawl", "mcp", "--url", d.url)
		cmd.Env = append(cmd.Env, "PAWL_TOKEN="+made.Token)
		for way, transport := range map[string]mcp.Transport{
			"stdio": &mcp.CommandTransport{Command: cmd},
			"http": &mcp.StreamableClientTransport{Endpoint: address, DisableStandaloneSSE: true,
				HTTPClient: &http.Client{Transport: bearer(made.Token)}},
		} {
			model := connectModel(t, transport)
			if got := model.offered(); !slices.Equal(got, want) {
				t.Errorf("%s over %s is offered %v", role, way, got)
			}
			if role == "viewer" {
				if _, err := model.CallTool(t.Context(), &mcp.CallToolParams{Name: "pause",
					Arguments: map[string]any{"workflow": "w"}}); err == nil {
					t.Errorf("a viewer may pause over %s", way)
				}
			}
		}
	}
	for _, token := range []string{"", "pawl_wrong"} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("with token %q: %s", token, answer.Status)
		}
	}
	d.stop()
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

package mcpcall

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// asServer tells the test binary, in its environment, to be an MCP server that writes down each call in the file.
const asServer = "PAWL_TEST_MCP_CALLS"

func TestMain(m *testing.M) {
	if calls := os.Getenv(asServer); calls != "" {
		serve(calls)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// freeze hangs the server, where the system can; nil elsewhere.
var freeze func(calls string) (*mcp.CallToolResult, error)

// serve is a server with a tool for each thing that can become of a call.
func serve(calls string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, reads bool, do func(arguments map[string]any) (*mcp.CallToolResult, error)) {
		server.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".\nMore.",
			InputSchema: json.RawMessage(`{"type": "object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				file, err := os.OpenFile(calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(file, "%s %v\n", name, r.Params.Meta[metaKey])
				if err := file.Close(); err != nil {
					return nil, err
				}
				arguments := map[string]any{}
				if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
					return nil, err
				}
				return do(arguments)
			})
	}
	answer := func(value any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: value}, nil
	}
	add("look-up", true, func(arguments map[string]any) (*mcp.CallToolResult, error) { return answer(arguments) })
	if freeze != nil {
		add("freeze", false, func(map[string]any) (*mcp.CallToolResult, error) { return freeze(calls) })
	}
	add("put", false, func(arguments map[string]any) (*mcp.CallToolResult, error) { return answer(arguments) })
	failing := func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no room"}}}, nil
	}
	add("fail", false, failing)
	add("failSafely", false, failing)
	add("missing", true, failing)
	add("die", false, func(map[string]any) (*mcp.CallToolResult, error) { os.Exit(1); return nil, nil })
	add("hang", false, func(map[string]any) (*mcp.CallToolResult, error) { select {} })
	_ = server.Run(context.Background(), &mcp.StdioTransport{}) // it ends with its client
}

// bench is a connector on the server, and the calls that reached it.
type bench struct {
	*Connector
	t     *testing.T
	calls string
}

func setup(t *testing.T) bench {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	verify := func(state string) *Verify {
		return &Verify{Tool: "look-up", Arguments: map[string]any{"id": "{id}", "state": state, "key": "k-{idempotencyKey}"},
			Applied: Match{Result: map[string]any{"id": "{id}", "state": "done", "key": "k-KEY"}},
			Failed:  Match{Result: map[string]any{"state": "none"}}}
	}
	c, err := New(t.Context(), Config{Name: "tools", Command: []string{program}, Env: map[string]string{asServer: calls},
		Logger: slog.New(slog.DiscardHandler), Tools: map[string]ToolConfig{
			"failSafely": {ErrorMeansFailed: true}, "put": {Verify: verify("done")}, "die": {Verify: verify("none")},
			"hang": {Verify: verify("underway")},
			"fail": {Verify: &Verify{Tool: "missing", Applied: Match{Result: map[string]any{"a": 1}},
				Failed: Match{Error: true}}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.listen = 0
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return bench{c, t, calls}
}

func (b bench) call(operation string) connector.Call {
	return connector.Call{Workflow: "w", Run: "r", Connector: "tools", Operation: operation, Key: "KEY",
		Params: json.RawMessage(`{"id": 7}`), StartedAt: time.Now(), Deadline: time.Now().Add(time.Minute)}
}

// reached counts the calls of a tool that the server got.
func (b bench) reached(tool string) int {
	b.t.Helper()
	text, err := os.ReadFile(b.calls)
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return strings.Count(string(text), tool+" ")
}

// A tool that says it reads is a read, each other one a mutation, and names become names of operations.
func TestOperations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kinds := map[string]connector.Kind{}
	for _, op := range b.Operations() {
		kinds[op.Name] = op.Kind
		if want := op.Name == "put" || op.Name == "die" || op.Name == "hang" || op.Name == "fail"; op.Reconciles != want {
			t.Errorf("%s reconciles: %t", op.Name, op.Reconciles)
		}
		if !strings.HasPrefix(op.Summary, "Does ") || strings.Contains(op.Summary, "More") {
			t.Errorf("%s: %q", op.Name, op.Summary)
		}
	}
	delete(kinds, "freeze")
	if len(kinds) != 7 || kinds["look_up"] != connector.List || kinds["missing"] != connector.List ||
		kinds["put"] != connector.Mutate {
		t.Errorf("operations: %v", kinds)
	}
	if _, err := connector.NewRegistry(b.Connector); err != nil {
		t.Error(err)
	}
}

// Each end of a call has the outcome that is certain of it, and one call is one request (F4).
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		tool   string
		status connector.Status
		code   string
	}{
		{"put", connector.Applied, ""}, {"fail", connector.Uncertain, CodeTool}, {"failSafely", connector.Failed, CodeTool},
		{"die", connector.Uncertain, CodeServer}, {"put", connector.Applied, ""},
	} {
		before := b.reached(c.tool)
		out := b.Perform(t.Context(), b.call(c.tool))
		if out.Status != c.status || c.code != "" && out.Failure.Code != c.code {
			t.Errorf("%s: %+v %+v", c.tool, out, out.Failure)
		}
		if c.status == connector.Applied && string(out.Result) != `{"id":7}` {
			t.Errorf("%s: %s", c.tool, out.Result)
		}
		if n := b.reached(c.tool) - before; n != 1 {
			t.Errorf("%s reached the server %d times", c.tool, n)
		}
	}
	text, err := os.ReadFile(b.calls)
	if err != nil || !strings.Contains(string(text), "put KEY\n") {
		t.Errorf("the key did not arrive: %s %v", text, err)
	}
}

// What its gate, its deadline or its caller holds back is a definite failure, and no request.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closed := b.call("put")
	closed.Gate = func() *eventlog.Failure { return connector.Failf(eventlog.Transient, "gate", "closed") }
	if out := b.Perform(t.Context(), closed); out.Status != connector.Failed || out.Failure.Code != "gate" {
		t.Errorf("a closed gate: %+v %+v", out, out.Failure)
	}
	late := b.call("put")
	late.Deadline = time.Now().Add(-time.Second)
	if out := b.Perform(t.Context(), late); out.Status != connector.Failed ||
		out.Failure.Code != connector.CodeDeadline {
		t.Errorf("a deadline that is over: %+v %+v", out, out.Failure)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if out := b.Perform(ended, b.call("put")); out.Status != connector.Failed {
		t.Errorf("a caller that is gone: %+v", out)
	}
	if n := b.reached("put"); n != 0 {
		t.Errorf("%d requests left", n)
	}
}

// A call that is not answered is uncertain at its deadline.
func TestDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if out := b.Perform(ctx, b.call("hang")); out.Status != connector.Uncertain || b.reached("hang") != 1 {
		t.Errorf("%+v %+v, reached %d", out, out.Failure, b.reached("hang"))
	}
}

// The verifying tool is asked with the call's parameters, its answer is matched, and nothing of the call is sent.
func TestVerify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for tool, want := range map[string]connector.Verdict{"put": connector.VerdictApplied, "die": connector.VerdictFailed,
		"hang": connector.VerdictRetry, "fail": connector.VerdictFailed, "failSafely": connector.VerdictRetry} {
		if got := b.Reconcile(t.Context(), b.call(tool)); got.Verdict != want {
			t.Errorf("%s: %+v %+v", tool, got, got.Failure)
		}
		if n := b.reached(tool); n != 0 {
			t.Errorf("asking about %s called it %d times", tool, n)
		}
	}
}

// Reads answer, and the error of a tool is one of its arguments.
func TestReads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if got, err := b.Read(t.Context(), b.call("look_up")); err != nil || string(got) != `{"id":7}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := b.Read(t.Context(), b.call("missing")); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
}

// Settings that cannot be are refused, by their key.
func TestSettings(t *testing.T) {
	t.Parallel()
	for key, config := range map[string]Config{
		"connectors.mcp.tools.command":      {},
		"connectors.mcp.tools.timeout":      {Command: []string{"x"}, Timeout: -1},
		"connectors.mcp.tools.tools.a.kind": {Command: []string{"x"}, Tools: map[string]ToolConfig{"a": {Kind: "b"}}},
		"connectors.mcp.tools.tools.a.verify": {Command: []string{"x"},
			Tools: map[string]ToolConfig{"a": {Verify: &Verify{}}}},
	} {
		if err := config.Validate("tools"); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := (Config{Command: []string{"x"}}).Validate("ctx-name"); err == nil {
		t.Error("a name that is none is taken")
	}
}

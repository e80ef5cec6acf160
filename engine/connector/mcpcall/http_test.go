package mcpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// remote is a server at a URL, and what reached it.
type remote struct {
	*httptest.Server
	mu sync.Mutex
	// turn answers a request to call a tool in place of the server, once.
	turn  http.HandlerFunc
	calls int
}

func (r *remote) reached() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *remote) next(turn http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn = turn
}

// atURL is a connector of a server that wants a token.
func atURL(t *testing.T, token string) (*Connector, *remote) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, tool := range []string{"put", "look"} {
		server.AddTool(&mcp.Tool{Name: tool, InputSchema: json.RawMessage(`{"type": "object"}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tool == "look"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: map[string]any{"key": r.Params.Meta[metaKey],
					"echo": r.Extra.Header.Get("Authorization")}}, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	at := &remote{}
	at.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), `"tools/call"`) {
			at.mu.Lock()
			at.calls++
			turn := at.turn
			at.turn = nil
			at.mu.Unlock()
			if turn != nil {
				turn(w, r)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	c, err := New(t.Context(), Config{Name: "tools", URL: at.URL, Headers: map[string]string{"Authorization": "Bearer " +
		token}, Secrets: []string{"right-token"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c.listen = 0
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		at.CloseClientConnections()
		at.Close()
	})
	return c, at
}

func callOf(operation string) connector.Call {
	return connector.Call{Workflow: "w", Run: "r", Connector: "tools", Operation: operation, Key: "KEY",
		Params: json.RawMessage(`{}`), StartedAt: time.Now(), Deadline: time.Now().Add(time.Minute)}
}

// A server at a URL gets the headers of the configuration, and what it answers has its secrets blanked.
func TestServerAtURL(t *testing.T) {
	t.Parallel()
	c, at := atURL(t, "right-token")
	if n := len(c.Operations()); n != 2 {
		t.Fatalf("%d operations", n)
	}
	got, err := c.Read(t.Context(), callOf("look"))
	if err != nil || string(got) != `{"echo":"Bearer ***","key":null}` {
		t.Errorf("%s, %v", got, err)
	}
	out := c.Perform(t.Context(), callOf("put"))
	if out.Status != connector.Applied || string(out.Result) != `{"echo":"Bearer ***","key":"KEY"}` {
		t.Errorf("%+v %s %+v", out, out.Result, out.Failure)
	}
	if n := at.reached(); n != 2 {
		t.Errorf("%d requests reached it", n)
	}
}

// A change that is held back at the connection's first byte is a definite failure, and no request.
func TestHeldBackOfURL(t *testing.T) {
	t.Parallel()
	c, at := atURL(t, "right-token")
	closed := callOf("put")
	closed.Gate = func() *eventlog.Failure { return connector.Failf(eventlog.Transient, "gate", "closed") }
	if out := c.Perform(t.Context(), closed); out.Status != connector.Failed || out.Failure.Code != "gate" {
		t.Errorf("a closed gate: %+v %+v", out, out.Failure)
	}
	if n := at.reached(); n != 0 {
		t.Errorf("%d requests reached it", n)
	}
	if out := c.Perform(t.Context(), callOf("put")); out.Status != connector.Applied {
		t.Errorf("the next call: %+v %+v", out, out.Failure)
	}
}

// Each end of a request to a URL has the outcome that is certain of it, and one call is one request (F4).
func TestOutcomesOfURL(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		turn   http.HandlerFunc
		status connector.Status
		class  eventlog.Class
	}{
		"cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, connector.Uncertain,
			eventlog.Transient},
		"an error of the server": {status(http.StatusInternalServerError), connector.Uncertain, eventlog.Transient},
		"sent elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, connector.Uncertain, eventlog.Transient},
		"no token":   {status(http.StatusUnauthorized), connector.Failed, eventlog.Auth},
		"no session": {status(http.StatusNotFound), connector.Failed, eventlog.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connected, at := atURL(t, "right-token")
			at.next(c.turn)
			out := connected.Perform(t.Context(), callOf("put"))
			if out.Status != c.status || out.Failure == nil || out.Failure.Class != c.class {
				t.Errorf("%+v %+v", out, out.Failure)
			}
			if n := at.reached(); n != 1 {
				t.Errorf("%d requests reached it", n)
			}
			if out := connected.Perform(t.Context(), callOf("put")); out.Status != connector.Applied {
				t.Errorf("the next call: %+v %+v", out, out.Failure)
			}
		})
	}
}

// A server that does not answer, or refuses the headers, leaves the engine running without its tools.
func TestServerAtURLThatRefuses(t *testing.T) {
	t.Parallel()
	c, _ := atURL(t, "wrong-token")
	if n := len(c.Operations()); n != 0 {
		t.Errorf("%d operations", n)
	}
	if _, err := c.Read(t.Context(), callOf("look")); err == nil {
		t.Error("it answered")
	}
}

// Addresses that cannot be are refused, by their key.
func TestURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mcp.example.com":           "connectors.mcp.tools.url: write e.g.",
		"http://mcp.example.com/":   "connectors.mcp.tools.url: beyond this machine it must be https",
		"https://a:b@example.com/":  "connectors.mcp.tools.url: it holds a password",
		"https://mcp.example.com/ ": "",
		"http://127.0.0.1:7000/mcp": "",
	} {
		err := (Config{URL: strings.TrimSpace(text)}).Validate("tools")
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	both := Config{URL: "https://example.com", Command: []string{"x"}}
	if err := both.Validate("tools"); err == nil {
		t.Error("a server is a program and at an address")
	}
	header := Config{URL: "https://example.com", Headers: map[string]string{"A": "b\nc"}}
	if err := header.Validate("tools"); err == nil || !strings.HasPrefix(err.Error(), "connectors.mcp.tools.headers.A: ") {
		t.Errorf("a header with a line break: %v", err)
	}
	if err := (Config{Command: []string{"x"}, Headers: map[string]string{"A": "b"}}).Validate("tools"); err == nil {
		t.Error("a program has headers")
	}
}

// The name localhost may lead elsewhere: without encryption nothing is dialled there.
func TestPlainConnectionsAreOfThisMachine(t *testing.T) {
	for _, changes := range []bool{false, true} {
		road := Config{URL: "http://localhost:1/mcp"}.connections(changes)
		_, err := road.DialContext(t.Context(), "tcp", "192.0.2.1:80")
		if err == nil || !strings.Contains(err.Error(), "192.0.2.1, which is not this machine") {
			t.Errorf("a connection for changes (%t) to another machine: %v", changes, err)
		}
	}
}

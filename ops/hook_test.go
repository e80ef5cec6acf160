package ops

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/rpc"
)

// hooked is a workflow with a hook for everybody and one for GitHub.
func hooked(name string) string {
	return fmt.Sprintf(`
export default Pawl.workflow({
  name: %q,
  topics: { in: {} },
  hooks: { open: Pawl.hook({ topic: "in", verify: "none", id: "{body:id}", title: "t" }) },
  consumers: { take: { subscribe: ["in"], async prepare() { return { reservations: [], data: null }; } } },
});
`, name)
}

// Hooks are reached without a token, and by no web page; everything beside them still asks for one.
func TestHooksNeedNoToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.do("deployWorkflow", map[string]any{"source": hooked("posts"), "filename": "posts.ts"}, nil)
	b.engine.Rest("posts")
	b.do("pauseWorkflow", map[string]any{"workflow": "posts"}, nil)
	before := b.last()
	for _, c := range []struct {
		path   string
		header []string
		status int
		code   string
	}{
		{"/hooks/posts/open", []string{"Origin", "https://evil.example"}, 403, "origin.forbidden"},
		{"/hooks/posts/open", []string{"Sec-Fetch-Site", "cross-site"}, 403, "origin.forbidden"},
		{"/hooks/posts/open", []string{"Host", "evil.example"}, 403, "host.forbidden"},
		{"/hooks/posts/none", nil, 404, "hook.unknown"},
		{"/hooks/posts/../../v1/why", nil, 404, "path.unknown"},
		{"/hooks/%2e%2e/v1/openapi.json", nil, 404, "path.unknown"},
		{"/hooks//open", nil, 404, "path.unknown"},
		{"/hooks/posts", nil, 404, "path.unknown"},
		{"/hooks/posts/open/x", nil, 404, "path.unknown"},
		{"/v1/hooks", nil, 401, "token.required"},
	} {
		res, text := b.request("POST", c.path, `{"id":"1"}`, append([]string{"Authorization", "none"}, c.header...)...)
		if res.StatusCode != c.status || !strings.Contains(string(text), c.code) {
			t.Errorf("%s %v: %d %s, want %d %s", c.path, c.header, res.StatusCode, text, c.status, c.code)
		}
	}
	if last := b.last(); last != before {
		t.Errorf("the log went from %d to %d", before, last)
	}
	if res, text := b.request("POST", "/hooks/posts/open", `{"id":"1"}`, "Authorization", "none"); res.StatusCode != 202 ||
		b.last() != before+1 {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if res, text := b.request("GET", "/metrics", ""); res.StatusCode != 200 ||
		!strings.Contains(string(text), `pawl_http_requests_total{operation="receiveHook",status="202"} 1`) ||
		!strings.Contains(string(text), `pawl_http_requests_total{operation="receiveHook",status="404"} 1`) ||
		!strings.Contains(string(text), `pawl_hook_refusals_total{code="hook.unknown"} 1`) {
		t.Errorf("the figures do not count the requests of hooks:\n%s", text)
	}
	archived := map[string]any{"workflow": "posts"}
	b.do("archiveWorkflow", archived, nil)
	if res, text := b.request("POST", "/hooks/posts/open", `{"id":"2"}`, "Authorization", "none"); res.StatusCode != 409 {
		t.Errorf("a hook of an archived workflow: %d %s", res.StatusCode, text)
	}
}

// At an address for hooks alone nothing else is answered, with the engine's token or without, and no token is proven.
func TestHooksAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.do("deployWorkflow", map[string]any{"source": hooked("posts"), "filename": "posts.ts"}, nil)
	b.engine.Rest("posts")
	alone := httptest.NewServer(b.server.hooksAlone())
	t.Cleanup(alone.Close)
	send := func(method, path string, header ...string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, alone.URL+path, strings.NewReader(`{"id":"1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(rpc.ChallengeHeader, "0123456789abcdef")
		if len(header) > 0 {
			req.Header.Set(header[0], header[1])
		}
		res, err := alone.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if proof := res.Header.Get(rpc.ProofHeader); proof != "" {
			t.Errorf("%s: the token is proven: %s", path, proof)
		}
		return res, string(text)
	}
	for _, o := range Operations() {
		path := strings.NewReplacer("{", "", "}", "").Replace(o.Path)
		for _, token := range []string{"none", "Bearer " + testToken} {
			if res, text := send(o.Method, path, "Authorization", token); res.StatusCode != 404 ||
				!strings.Contains(text, "path.unknown") {
				t.Errorf("%s %s: %d %s", o.Method, path, res.StatusCode, text)
			}
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", rpc.OpenAPIPath, "/",
		"/hooks/posts/open/../../../v1/why"} {
		if res, text := send("GET", path); res.StatusCode != 404 || !strings.Contains(text, "path.unknown") {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	if res, text := send("POST", "/hooks/posts/open", "Origin", "https://evil.example"); res.StatusCode != 403 {
		t.Errorf("a web page: %d %s", res.StatusCode, text)
	}
	if res, text := send("POST", "/hooks/posts/open"); res.StatusCode != 202 {
		t.Errorf("a hook: %d %s", res.StatusCode, text)
	}
}

// A figure of each refusal that the manual lists is there, at 0, before the first.
func TestFiguresOfRefusedHooks(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(manual), "\n## Hooks\n")
	part, _, _ = strings.Cut(part, "\n## ")
	b := setup(t)
	_, figures := b.request("GET", "/metrics", "")
	listed := 0
	for line := range strings.Lines(part) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, code := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+)`").FindAllStringSubmatch(cells[2], -1) {
			listed++
			figure := `pawl_hook_refusals_total{code="` + code[1] + `"} 0`
			if !strings.Contains(string(figures), figure) && code[1] != "backlog.full" {
				t.Errorf("there is no %s", figure)
			}
		}
	}
	if want := len(hooks.Refusals()) + 1; listed != want { // backlog.full is any push's
		t.Errorf("the manual lists %d codes, %d are known", listed, want)
	}
}

// A secret has to be configured, and is granted by its name alone; what is granted is shown.
func TestSecretsAreGrantedByName(t *testing.T) {
	t.Parallel()
	known, err := secret.Of([]string{"planted"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(c *Config, h *enginetest.Harness) {
		c.Secrets = secret.NewSet(map[string]secret.Secret{"S": known})
		h.Config.Secrets = c.Secrets.Names()
	})
	source := func(name string) string {
		verify := fmt.Sprintf(`verify: { token: %q, header: "X-T" }`, name)
		return strings.Replace(hooked("posts"), `verify: "none"`, verify, 1)
	}
	p := b.refused("deployWorkflow", map[string]any{"source": source("T")})
	if p.Code != "script.refused" || p.Problems[0].Code != "secret.unknown" ||
		!strings.Contains(p.Problems[0].Fix, "secrets: { T:") {
		t.Errorf("an unknown secret: %+v", p)
	}
	var deployed struct{ Warnings []struct{ Code, Fix string } }
	b.do("deployWorkflow", map[string]any{"source": source("S"), "grants": map[string]any{"*": "allow"}}, &deployed)
	if len(deployed.Warnings) != 1 || deployed.Warnings[0].Code != "secret.notGranted" ||
		!strings.Contains(deployed.Warnings[0].Fix, "pawl grants posts secret.S=allow") {
		t.Errorf("warnings: %+v", deployed.Warnings)
	}
	post := func() int {
		res, _ := b.request("POST", "/hooks/posts/open", `{"id":"1"}`, "Authorization", "none", "X-T", "planted")
		return res.StatusCode
	}
	if status := post(); status != http.StatusServiceUnavailable {
		t.Errorf("a pattern grants a secret: %d", status)
	}
	for _, grants := range []map[string]any{
		{"secret.*": "allow"}, {"secret.S": "ask"}, {"secret.S@api.example.com": "allow"},
	} {
		if p := b.refused("setGrants", map[string]any{"workflow": "posts", "grants": grants}); p.Code != "grants.invalid" {
			t.Errorf("%v: %+v", grants, p)
		}
	}
	var grants struct {
		Operations []struct {
			Capability, Kind string
			Grant            eventlog.Grant
		}
	}
	b.do("changeGrants", map[string]any{"workflow": "posts", "grants": map[string]any{"secret.S": "allow"}}, &grants)
	if len(grants.Operations) != 1 || grants.Operations[0].Capability != "secret.S" ||
		grants.Operations[0].Grant != eventlog.GrantAllow {
		t.Errorf("grants: %+v", grants)
	}
	if status := post(); status != http.StatusAccepted {
		t.Errorf("granted: %d", status)
	}
	b.do("changeGrants", map[string]any{"workflow": "posts", "grants": map[string]any{"secret.S": "deny"}}, nil)
	if status := post(); status != http.StatusServiceUnavailable {
		t.Errorf("denied again: %d", status)
	}
}

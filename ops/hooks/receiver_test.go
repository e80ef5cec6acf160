package hooks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// planted is the value of every secret; it must be in no answer, log or event.
const planted = "cGxhbnRlZC1zZWNyZXQtdmFsdWU="

// inbox is a workflow with a hook of each kind.
const inbox = `
export default Pawl.workflow({
  name: "inbox",
  topics: { in: {} },
  hooks: {
    github: Pawl.hook({ topic: "in", verify: { scheme: "github", secret: "S" }, id: "{header:X-GitHub-Delivery}",
      title: "{header:X-GitHub-Event}", headers: ["X-GitHub-Event"] }),
    stripe: Pawl.hook({ topic: "in", verify: { scheme: "stripe", secret: "S" }, id: "{body:id}", title: "{body:type}" }),
    slack: Pawl.hook({ topic: "in", verify: { scheme: "slack", secret: "S" }, id: "{body:trigger_id}",
      title: "{body:command}", respond: { json: { text: "seen" } } }),
    shopify: Pawl.hook({ topic: "in", verify: { scheme: "shopify", secret: "S" }, id: "{body:id}", title: "order" }),
    standard: Pawl.hook({ topic: "in", verify: { scheme: "standard", secret: "S" }, id: "{header:webhook-id}",
      title: "{body:type}", respond: { status: 204 } }),
    twilio: Pawl.hook({ topic: "in", verify: { scheme: "twilio", secret: "S" }, id: "{body:MessageSid}",
      title: "{body:From}" }),
    parts: Pawl.hook({ topic: "in", id: "{hash}", title: "t", verify: { hmac: "sha512", secret: "S",
      signed: "{method}\n{header:X-Time}\n{body}", signatures: { header: "X-Sig", encoding: "base64" },
      timestamp: { header: "X-Time", format: "rfc3339", tolerance: "1m" } } }),
    token: Pawl.hook({ topic: "in", id: "{body:id}", title: "t", verify: { token: "S", query: "key" } }),
    open: Pawl.hook({ topic: "in", id: "{query:id}", title: "t", verify: "none",
      respond: { challenge: "{query:challenge}" } }),
    other: Pawl.hook({ topic: "in", id: "{body:id}", title: "t", verify: { token: "NOTGRANTED", header: "X-T" } }),
    miswritten: Pawl.hook({ topic: "in", verify: { scheme: "standard", secret: "MISWRITTEN" },
      id: "{header:webhook-id}", title: "t" }),
  },
  consumers: {
    take: { subscribe: ["in"], async prepare() { return { reservations: [], data: null }; } },
  },
});
`

// world is a receiver on a real engine, behind a real server.
type world struct {
	*Receiver
	t      *testing.T
	engine *enginetest.Engine
	bench  *enginetest.Harness
	server *httptest.Server
	said   *bytes.Buffer
	now    time.Time
}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, bench: enginetest.New(t), said: &bytes.Buffer{}, now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	w.bench.Config.Secrets = []string{"S", "NOTGRANTED", "MISWRITTEN"}
	w.bench.Config.Clock = clock.NewManual(w.now)
	w.engine = w.bench.Start()
	result, err := w.engine.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{
		Source: inbox, Filename: "inbox.ts",
		Grants: map[string]eventlog.Grant{"secret.S": eventlog.GrantAllow,
			"secret.MISWRITTEN": eventlog.GrantAllow, "*": eventlog.GrantAllow}})
	if err != nil || result.Refused {
		t.Fatalf("deploy: %v %+v", err, result.Problems)
	}
	w.engine.Rest("inbox")
	// Then events stay as they came, and each is one transition.
	if err := w.engine.Operate(t.Context(), enginetest.Tester, "inbox", decide.Pause{}, "pause"); err != nil {
		t.Fatal(err)
	}
	known, err := secret.Of([]string{"YW5vdGhlcg==", planted}, nil)
	if err != nil {
		t.Fatal(err)
	}
	miswritten, err := secret.Of([]string{"this is no base64"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(w.said, nil))
	w.Receiver = New(Config{
		Engine: w.engine, Secrets: secret.NewSet(map[string]secret.Secret{"S": known, "NOTGRANTED": known,
			"MISWRITTEN": miswritten}),
		Now: func() time.Time { return w.now }, PublicURL: "https://pawl.example.com", Timeout: 20 * time.Second,
		Started: func(context.Context) error { return nil }, Logger: logger, Answered: func(int) {}, Recorded: func() {},
		Refused: func(string) {},
		Problem: func(err error) *rpc.Problem {
			var p *rpc.Problem
			if !errors.As(err, &p) {
				t.Errorf("not a problem: %v", err)
				return rpc.Problemf(500, "internal", "%v", err)
			}
			return p
		},
		Refuse: func(rw http.ResponseWriter, r *http.Request, p *rpc.Problem) {
			rpc.WriteProblem(rw, p)
			rpc.DiscardBody(t.Context(), rw, r)
		},
	})
	mux := http.NewServeMux()
	mux.Handle(Path+"{workflow}/{hook}", w)
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) last() uint64 {
	w.t.Helper()
	last, err := w.bench.Log.Last(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return last
}

// sample is a signed request for a hook.
func (w *world) sample(name eventlog.HookName, body, contentType string) *hook.Request {
	w.t.Helper()
	s, _ := w.engine.State("inbox")
	h, ok := s.Definition().Hook(name)
	if !ok {
		w.t.Fatalf("no hook %s", name)
	}
	r, err := hook.Sample(&h, "https://pawl.example.com"+Address("inbox", name), []byte(body), contentType, "one")
	if err == nil {
		err = hook.Sign(h.Verify, planted, r, w.now)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// send sends it as another system would, and returns the status and the answer.
func (w *world) send(r *hook.Request) (*http.Response, string) {
	w.t.Helper()
	_, path, _ := strings.Cut(r.URL, "pawl.example.com")
	req, err := http.NewRequestWithContext(w.t.Context(), r.Method, w.server.URL+path, bytes.NewReader(r.Body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(string(text), planted) {
		w.t.Errorf("the secret is in the answer %s", text)
	}
	return res, string(text)
}

// A request of each kind is answered once its event is durable; the same again writes nothing.
func TestRequestsBecomeEvents(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, c := range map[eventlog.HookName]struct {
		body, contentType string
		first, again      int
		answer            string
		id                string
	}{
		"github":   {`{"zen":1}`, "", 202, 200, `"messageId":"sample-one","result":"created"`, "sample-one"},
		"stripe":   {`{"id":"evt_1","type":"charge"}`, "", 202, 200, `"messageId":"evt_1"`, "evt_1"},
		"slack":    {"command=%2Fx&trigger_id=1.2", "application/x-www-form-urlencoded", 202, 200, `{"text":"seen"}`, "1.2"},
		"shopify":  {`{"id":820982911946154508}`, "", 202, 200, `"messageId":"820982911946154508"`, "820982911946154508"},
		"standard": {`{"type":"a.b"}`, "", 204, 204, "", "sample-one-standard"},
		"twilio":   {"MessageSid=SM1&From=%2B1&Body=hi", "application/x-www-form-urlencoded", 202, 200, `"SM1"`, "SM1"},
		"parts":    {"<a/>", "text/xml", 202, 200, `"result":"created"`, ""},
		"token":    {`{"id":"tok"}`, "", 202, 200, `"tok"`, "tok"},
	} {
		r := w.sample(name, c.body, c.contentType)
		if name == "standard" {
			r.Header.Set("webhook-id", c.id)
			s, _ := w.engine.State("inbox")
			h, _ := s.Definition().Hook(name)
			if err := hook.Sign(h.Verify, planted, r, w.now); err != nil {
				t.Fatal(err)
			}
		}
		res, text := w.send(r)
		if res.StatusCode != c.first || !strings.Contains(text, c.answer) ||
			res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
			continue
		}
		last := w.last()
		if res, text := w.send(r); res.StatusCode != c.again || w.last() != last {
			t.Errorf("%s again: %d %s; the log went from %d to %d", name, res.StatusCode, text, last, w.last())
		}
		if c.id == "" {
			continue
		}
		s, _ := w.engine.State("inbox")
		e := s.Event("in", eventlog.MessageID(c.id))
		if e == nil {
			t.Errorf("%s: there is no event %s", name, c.id)
		} else if strings.Contains(string(e.Payload), planted) || !json.Valid(e.Payload) {
			t.Errorf("%s: payload %s", name, e.Payload)
		}
	}
	w.neverShown()
}

// neverShown searches what was stored and said for the secret.
func (w *world) neverShown() {
	w.t.Helper()
	for r, err := range w.bench.Log.Read(w.t.Context(), 0, 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.Contains(string(text), planted) {
			w.t.Errorf("the secret is in the log: %s", text)
		}
		if r.Cause.ID == "push" && (r.Actor.Kind != "hook" || r.Actor.Verified != (r.Actor.Name != "open")) {
			w.t.Errorf("an event of a hook is recorded as of %+v", r.Actor)
		}
	}
	if strings.Contains(w.said.String(), planted) {
		w.t.Errorf("the secret is in the engine's output: %s", w.said)
	}
}

// What is not verified, not readable or not for a hook is refused by name, and stores nothing.
func TestRefusedRequestsStoreNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	before := w.last()
	stripe := func(spoil func(*hook.Request)) *hook.Request {
		r := w.sample("stripe", `{"id":"evt_1","type":"charge"}`, "")
		spoil(r)
		return r
	}
	old := w.now
	w.now = old.Add(-6 * time.Minute)
	replayed := w.sample("stripe", `{"id":"evt_1","type":"charge"}`, "")
	w.now = old
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, c := range map[string]struct {
		request *hook.Request
		status  int
		code    string
	}{
		"no signature":        {stripe(func(r *hook.Request) { r.Header.Del("Stripe-Signature") }), 401, hook.CodeUnsigned},
		"another body":        {stripe(func(r *hook.Request) { r.Body = []byte(`{"id":"evt_2"}`) }), 401, hook.CodeSignature},
		"a later time":        {stripe(func(r *hook.Request) { later(r) }), 401, hook.CodeSignature},
		"an old request":      {replayed, 401, hook.CodeTimestamp},
		"another hook's":      {stripe(func(r *hook.Request) { elsewhere(r, "github") }), 401, hook.CodeUnsigned},
		"no such hook":        {stripe(func(r *hook.Request) { elsewhere(r, "none") }), 404, CodeUnknown},
		"the installation":    {at("/hooks/_pawl/stripe"), 404, CodeUnknown},
		"no such workflow":    {at("/hooks/nobody/stripe"), 404, CodeUnknown},
		"another token":       {at("/hooks/inbox/token?key=wrong"), 401, hook.CodeToken},
		"no token":            {at("/hooks/inbox/token"), 401, hook.CodeUnsigned},
		"a secret not given":  {at("/hooks/inbox/other"), 503, codeUnready},
		"a method":            {method("OPTIONS", at("/hooks/inbox/open?id=1")), 405, "method.notAllowed"},
		"malformed JSON":      {w.sample("github", `{"a":`, ""), 400, "json.invalid"},
		"nested too deep":     {w.sample("github", deep, ""), 400, "json.invalid"},
		"too large a number":  {w.sample("github", `{"a":1e999}`, ""), 400, "json.invalid"},
		"no id":               {w.sample("shopify", `{"ID":1}`, ""), 400, hook.CodeID},
		"too large":           {w.sample("github", `"`+strings.Repeat("x", hook.MaxBody)+`"`, ""), 413, codeTooLarge},
		"a body in no scheme": {method("POST", at("/hooks/inbox/open")), 400, hook.CodeID},
	} {
		res, text := w.send(c.request)
		var p rpc.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || res.StatusCode != c.status || p.Code != c.code ||
			p.Hint == "" || res.Header.Get("Content-Type") != rpc.ProblemType {
			t.Errorf("%s: %d %s, want %d %s", name, res.StatusCode, text, c.status, c.code)
		}
		if is := name == "nested too deep"; is != strings.Contains(p.Detail, "nested too deep") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if w.last() != before {
		t.Errorf("the log went from %d to %d", before, w.last())
	}
	if said := w.said.String(); !strings.Contains(said, "secret.NOTGRANTED=allow") {
		t.Errorf("the operator is not told why a hook refuses everything: %s", said)
	}
	w.neverShown()
}

func at(path string) *hook.Request {
	return &hook.Request{Method: "POST", URL: "https://pawl.example.com" + path, Header: http.Header{}, Body: []byte("{}")}
}

func method(name string, r *hook.Request) *hook.Request {
	r.Method = name
	return r
}

func elsewhere(r *hook.Request, name string) {
	r.URL = "https://pawl.example.com" + Address("inbox", eventlog.HookName(name))
}

// later sets the time of a request anew, which its signature does not cover then.
func later(r *hook.Request) {
	_, rest, _ := strings.Cut(r.Header.Get("Stripe-Signature"), ",")
	r.Header.Set("Stripe-Signature", "t=1772352001,"+rest)
}

// A challenge is answered only once it is verified, and is no event.
func TestChallengesAreNoEvents(t *testing.T) {
	t.Parallel()
	w := setup(t)
	before := w.last()
	handshake := w.sample("slack", `{"type":"url_verification","challenge":"abc<b>"}`, "")
	res, text := w.send(handshake)
	if res.StatusCode != 200 || text != "abc<b>" || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("Slack's: %d %s %v", res.StatusCode, text, res.Header)
	}
	handshake.Header.Set("X-Slack-Signature", "v0=00")
	if res, text := w.send(handshake); res.StatusCode != 401 || strings.Contains(text, "abc") {
		t.Errorf("not verified: %d %s", res.StatusCode, text)
	}
	if res, text := w.send(method("GET", at("/hooks/inbox/open?challenge=xyz"))); res.StatusCode != 200 || text != "xyz" {
		t.Errorf("its own: %d %s", res.StatusCode, text)
	}
	if w.last() != before {
		t.Errorf("the log went from %d to %d", before, w.last())
	}
}

// A body whose length is not said, or is a lie, is read as far as a body may be long.
func TestBodiesOfUnknownLength(t *testing.T) {
	t.Parallel()
	w := setup(t)
	before := w.last()
	for size, want := range map[int]int{100: 202, hook.MaxBody: 202, hook.MaxBody + 1: 413, 3 * hook.MaxBody: 413} {
		first, last := fmt.Sprintf(`{"id":"%d","x":"`, size), `"}`
		body := io.MultiReader(strings.NewReader(first),
			io.LimitReader(endless{}, int64(size-len(first)-len(last))), strings.NewReader(last))
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.server.URL+"/hooks/inbox/token?key="+planted, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, res.StatusCode, want)
		}
	}
	if w.last() != before+2 {
		t.Errorf("the log went from %d to %d", before, w.last())
	}
	if taken := w.bodies.Taken(); taken != 0 {
		t.Errorf("%d KiB are still taken", taken)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A sender that stops in the middle of a body is cut off by name, and gives its room back.
func TestSlowSendersAreCutOff(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.bodyTimeout = 50 * time.Millisecond
	before := w.last()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "POST /hooks/inbox/open?id=1 HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: 100000\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	var p rpc.Problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 408 || p.Code != codeSlow {
		t.Errorf("%d %+v %v", res.StatusCode, p, err)
	}
	if w.last() != before || w.bodies.Taken() != 0 {
		t.Errorf("the log is at %d, %d KiB are taken", w.last(), w.bodies.Taken())
	}
}

// What is not verified yet has a bounded room, of one address and of all.
func TestUnverifiedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.bodies = auth.NewQuota("KiB of bodies of hooks", "hook.busy", 100, 80)
	send := func(size int) (int, string) {
		r := at("/hooks/inbox/open?id=" + fmt.Sprint(size))
		r.Body = bytes.Repeat([]byte("x"), size)
		res, text := w.send(r)
		return res.StatusCode, text
	}
	if status, text := send(200 << 10); status != 429 || !strings.Contains(text, "hook.busy") {
		t.Errorf("more than one address may have: %d %s", status, text)
	}
	give, p := w.bodies.TakeMany(&rpc.Caller{Key: "192.0.2.1"}, 60)
	if p != nil {
		t.Fatal(p)
	}
	if status, text := send(70 << 10); status != 503 || !strings.Contains(text, "hook.busy") {
		t.Errorf("more than all may have: %d %s", status, text)
	}
	give()
	if status, text := send(70 << 10); status != 202 {
		t.Errorf("with room again: %d %s", status, text)
	}
}

// refusing is an engine that records nothing.
type refusing struct {
	Engine
	err error
}

func (r refusing) Push(context.Context, eventlog.Actor, eventlog.WorkflowName, eventlog.Topic,
	[]decide.PushItem) ([]decide.PushResult, error) {
	return nil, r.err
}

// Success is answered for what is recorded only.
func TestWhatIsNotRecordedIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.Config.Engine = refusing{w.engine, rpc.Problemf(503, "storage.unavailable", "no").WithHint("later")}
	if res, text := w.send(w.sample("standard", `{"type":"x"}`, "")); res.StatusCode != 503 {
		t.Errorf("without storage: %d %s", res.StatusCode, text)
	}
	w.Config.Engine = refusing{w.engine, eventlog.ErrTooLarge}
	if res, text := w.send(w.sample("github", `{}`, "")); res.StatusCode != 413 || !strings.Contains(text, codeTooLarge) {
		t.Errorf("too large for the log: %d %s", res.StatusCode, text)
	}
}

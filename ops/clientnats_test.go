package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// transports are the ways on which a client reaches the engine.
var transports = map[string]func(*bundle){
	"HTTP": func(*bundle) {},
	"NATS": func(b *bundle) {
		site := newSite(b.t)
		b.offer(site)
		b.client = &rpc.Client{Operations: Table(), NATS: site.line(embeddednats.Operator), Actor: "ann"}
	},
}

// site is a NATS server with a listener and its users.
type site struct {
	t      testing.TB
	dir    string
	server *embeddednats.Server
	engine *nats.Conn
}

func newSite(t testing.TB, options ...func(*embeddednats.Config)) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "nats")}
	users, err := embeddednats.Users(s.dir, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, natstest.Fast, func(c *embeddednats.Config) { c.ListenAddr, c.Users = "127.0.0.1:0", users })
	s.server = natstest.NewServer(t, options...)
	if err := s.server.WriteURLs(s.dir); err != nil {
		t.Fatal(err)
	}
	if s.engine, err = s.server.ConnectServices(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
	return s
}

func (s *site) url(user string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, user+".url"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (s *site) line(user string) *rpc.NATSLine { return newLine(s.t, s.url(user)) }

func newLine(t testing.TB, url string) *rpc.NATSLine {
	t.Helper()
	line, err := rpc.NewNATSLine(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(line.Close)
	return line
}

// offer makes the engine answer there.
func (b *bundle) offer(s *site) *rpc.NATSService {
	b.t.Helper()
	service, err := b.server.StartNATS(rpc.NATSConfig{Role: rpc.Admin, Conn: s.engine})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = service.Stop() })
	return service
}

// TestClientsAgree: over both ways the same call has the same answer or the same problem, and acts
// under the same name.
func TestClientsAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a", "b")
	b.engine.Rest("shop")
	s := newSite(t)
	b.offer(s)
	over := &rpc.Client{Operations: Table(), NATS: s.line(embeddednats.Operator), Actor: "nina"}
	for id, params := range map[string]map[string]any{
		"listWorkflows": nil, "getWorkflow": {"workflow": "shop"},
		"listRuns": {"limit": 2, "order": "desc", "status": "committed"},
		"getEvent": {"workflow": "shop", "topic": "order.in", "messageId": "a"}, "getState": {"workflow": "shop", "at": 3},
		"readLog": {"workflow": "shop", "limit": 4}, "explainAll": nil, "getSource": {"workflow": "shop"},
	} {
		var http, nats any
		if err := errors.Join(b.client.Do(t.Context(), id, params, &http),
			over.Do(t.Context(), id, params, &nats)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if fmt.Sprint(http) != fmt.Sprint(nats) {
			t.Errorf("%s: over HTTP %v\nover NATS %v", id, http, nats)
		}
	}
	for id, params := range map[string]map[string]any{
		"getWorkflow": {"workflow": "nobody"}, "getRun": {"workflow": "shop", "run": "01AAAAAAAAAAAAAAAAAAAAAAAA"},
		"deployWorkflow": {"source": "export default 1"}, "listRuns": {"cursor": "x"},
		"approveMutation": {"mutation": "01AAAAAAAAAAAAAAAAAAAAAAAA"},
		"advanceClock":    {"by": "5m"}, "readLog": {"from": "x"}, "pushEvents": {"workflow": "shop", "topic": "none",
			"events": map[string]any{"messageId": "x", "title": "X"}},
	} {
		var http, nats *rpc.Problem
		if !errors.As(b.client.Do(t.Context(), id, params, nil), &http) || !errors.As(over.Do(t.Context(), id, params, nil),
			&nats) {
			t.Errorf("%s is not refused", id)
			continue
		}
		if string(http.Document()) != string(nats.Document()) {
			t.Errorf("%s: over HTTP %s\nover NATS %s", id, http.Document(), nats.Document())
		}
	}
	if err := over.Do(t.Context(), "pauseWorkflow", map[string]any{"workflow": "shop"}, nil); err != nil {
		t.Fatal(err)
	}
	checkActorOf(t, b, "workflow.paused", eventlog.Actor{Kind: "user", Name: "nina"})
}

// checkCode holds the error against the code of a problem.
func checkCode(t testing.TB, err error, code string) {
	t.Helper()
	var p *rpc.Problem
	if !errors.As(err, &p) || p.Code != code || p.Hint == "" {
		t.Errorf("%v, want the problem %s", err, code)
	}
}

// TestOperatorsReadNothingOfOthers: all operators have one NATS user, and none reads what another one is answered.
// Besides, no answer holds a secret, whatever the caller's role.
func TestOperatorsReadNothingOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSite(t)
	b.offer(s) // without a token a caller is an admin here
	snooper, err := nats.Connect(s.url(embeddednats.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer snooper.Close()
	seen, err := snooper.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := snooper.Flush(); err != nil {
		t.Fatal(err)
	}
	boss, err := nats.Connect(s.url(embeddednats.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer boss.Close()
	answer := ask(t, boss, "pawl.api.createToken", `{"name":"boss","role":"admin"}`, rpc.TokenHeader, b.server.cfg.Token)
	if mustJSON(t, answer.Data)["code"] != "operation.private" ||
		strings.Contains(string(answer.Data)+fmt.Sprint(answer.Header), auth.TokenPrefix) {
		t.Errorf("a token over NATS: %s", answer.Data)
	}
	overNATS := &rpc.Client{Operations: Table(), NATS: s.line(embeddednats.Operator), Actor: "ann"}
	checkCode(t, overNATS.Do(t.Context(), "createToken", map[string]any{"name": "boss", "role": "admin"}, nil),
		"operation.private")
	var tokens readmodel.Page[tokenView]
	if err := overNATS.Do(t.Context(), "listTokens", nil, &tokens); err != nil || len(tokens.Items) != 0 {
		t.Errorf("tokens: %+v, %v", tokens, err)
	}
	// What the snooper is answered itself comes after what the others were.
	ask(t, snooper, "pawl.api.listTokens", "{}")
	m, err := seen.NextMsgWithContext(await(t))
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := seen.Pending(); err != nil || n != 0 ||
		strings.TrimSpace(string(m.Data)) != `{"items":[],"next":null}` {
		t.Errorf("an operator reads %s and %d more (%v)", m.Data, n, err)
	}
}

// TestUsersThatMayNotOperate: tools and subscribers of the NATS server cannot call the engine, and are
// told so.
func TestUsersThatMayNotOperate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	s := newSite(t)
	b.offer(s)
	before := b.last()
	for _, user := range []string{embeddednats.Connector, embeddednats.Subscriber} {
		c := &rpc.Client{Operations: Table(), NATS: s.line(user)}
		for _, o := range Operations() {
			params := map[string]any{}
			path, _, _ := o.Params()
			for _, name := range path {
				params[name] = "shop"
			}
			if o.Private {
				continue // it is not even sent
			}
			var p *rpc.Problem
			if err := c.Do(await(t), o.ID, params, nil); !errors.As(err, &p) || p.Status != 403 || p.Code != "user.forbidden" ||
				!strings.Contains(p.Hint, "operator.url") {
				t.Errorf("%s as %s: %v", o.ID, user, err)
			}
		}
	}
	if after := b.last(); after != before {
		t.Errorf("the log went from %d to %d", before, after)
	}
	wrong := strings.Replace(s.url(embeddednats.Operator), "@", "x@", 1)
	var p *rpc.Problem
	err := (&rpc.Client{Operations: Table(), NATS: newLine(t, wrong)}).Do(await(t), "listWorkflows", nil, nil)
	if !errors.As(err, &p) || p.Status != 401 || p.Code != "user.refused" ||
		strings.Contains(fmt.Sprint(p, p.Hint), wrong) {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestNATSUnreachable: an engine that is not there, or is no more, is told from one that refuses, and
// is never waited for in vain.
func TestNATSUnreachable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSite(t)
	line := s.line(embeddednats.Operator)
	c := &rpc.Client{Operations: Table(), NATS: line}
	unreachable := func(when, id string) {
		t.Helper()
		err := c.Do(await(t), id, nil, nil)
		if !errors.Is(err, rpc.ErrUnreachable) || strings.Contains(err.Error(), "operator") ||
			!strings.Contains(err.Error(), line.Address()) {
			t.Errorf("%s: %v", when, err)
		}
	}
	unreachable("no engine", "listWorkflows")
	unreachable("no engine for a slow operation", "verifyLog")
	service := b.offer(s)
	if err := c.Do(await(t), "listWorkflows", nil, nil); err != nil {
		t.Errorf("on the same connection: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Do(ctx, "listWorkflows", nil, nil); !errors.Is(err, context.Canceled) ||
		errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("a call given up: %v", err)
	}
	if err := service.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Flush(); err != nil { // its subscriptions are gone for the server too
		t.Fatal(err)
	}

	// A subscriber takes requests and answers none: a dead engine whose server has not noticed.
	line.AnswerTime, line.ProbeTime = 10*time.Millisecond, 10*time.Millisecond
	mute, err := s.engine.Subscribe("pawl.api.>", func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	unreachable("no answer", "listWorkflows")
	unreachable("no answer to a slow operation, and no engine", "verifyLog")
	if err := mute.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	foreign, err := s.engine.Subscribe("pawl.api.>", func(m *nats.Msg) { _ = m.Respond([]byte("hello")) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Flush(); err != nil {
		t.Fatal(err)
	}
	line.AnswerTime = time.Hour
	var p *rpc.Problem
	if err := c.Do(await(t), "listWorkflows", nil, nil); !errors.As(err, &p) || p.Code != "answer.foreign" {
		t.Errorf("a foreign service: %v", err)
	}
	if err := foreign.Unsubscribe(); err != nil {
		t.Fatal(err)
	}

	// The server goes while a request is open.
	taken := make(chan struct{}, 1)
	if _, err := s.engine.Subscribe("pawl.api.getDiagnostics", func(*nats.Msg) { taken <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Flush(); err != nil {
		t.Fatal(err)
	}
	broken := make(chan error, 1)
	alone := &rpc.Client{Operations: Table(), NATS: s.line(embeddednats.Operator)}
	alone.NATS.AnswerTime = time.Hour
	go func() { broken <- alone.Do(await(t), "getDiagnostics", nil, nil) }()
	<-taken
	s.engine.Close()
	s.server.Shutdown()
	if err := <-broken; !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("the server is gone: %v", err)
	}
	unreachable("no server", "listWorkflows")

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // takes a connection, and ends it without a word
		if conn, err := silent.Accept(); err == nil {
			_ = conn.Close()
		}
	}()
	c.NATS = newLine(t, "nats://operator:secret@"+silent.Addr().String())
	line = c.NATS
	unreachable("no NATS server", "listWorkflows")
	_ = silent.Close()
}

// TestNATSLineComesBack: after a broken connection the next call makes a new one.
func TestNATSLineComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSite(t)
	b.offer(s)
	c := &rpc.Client{Operations: Table(), NATS: s.line(embeddednats.Operator)}
	for range 2 {
		if err := c.Do(await(t), "listWorkflows", nil, nil); err != nil {
			t.Fatal(err)
		}
		c.NATS.Close()
	}
}

// TestNATSRequestTooLarge: a request that the server would not carry is refused before it is sent.
func TestNATSRequestTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSite(t, func(c *embeddednats.Config) { c.MaxPayload = 4 << 10 })
	b.offer(s)
	c := &rpc.Client{Operations: Table(), NATS: s.line(embeddednats.Operator)}
	var p *rpc.Problem
	err := c.Do(await(t), "deployWorkflow", map[string]any{"source": strings.Repeat("x", 5<<10)}, nil)
	if !errors.As(err, &p) || p.Status != 413 || p.Code != "body.tooLarge" || !strings.Contains(p.Hint, "--url") {
		t.Errorf("%v", err)
	}
}

// TestNATSFollowEndsWithEngine: a client that follows over NATS waits as long as the engine is there, and learns
// that it has gone.
func TestNATSFollowEndsWithEngine(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config, _ *enginetest.Harness) { c.KeepAlive = time.Hour })
	b.deploy("shop", "send", eventlog.GrantAllow)
	s := newSite(t)
	service := b.offer(s)
	last, n := b.last(), uint64(0)
	line := s.line(embeddednats.Operator)
	line.ProbeTime, line.AnswerTime = time.Millisecond, time.Hour
	probed := make(chan struct{})
	if _, err := s.engine.Subscribe("$SRV.PING.pawl", func(*nats.Msg) {
		select {
		case probed <- struct{}{}:
		default:
		}
	}); err != nil {
		t.Fatal(err)
	}
	var end error
	for raw, err := range (&rpc.Client{Operations: Table(), NATS: line}).Log(await(t), rpc.LogQuery{Follow: true}) {
		if end = err; raw == nil {
			break
		}
		if n++; n == last {
			go func() {
				for range 20 {
					<-probed
				}
				_ = service.Stop()
			}()
		}
	}
	if !errors.Is(end, rpc.ErrUnreachable) || n != last {
		t.Errorf("after %d of %d: %v", n, last, end)
	}
}

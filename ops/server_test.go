package ops

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// TestServe: it answers on a listener, and at its end streams end and open requests are finished.
func TestServe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, ln) }()
	client := &rpc.Client{Operations: Table(), URL: "http://" + ln.Addr().String(), Token: testToken}
	if err := client.Do(await(t), "listWorkflows", nil, nil); err != nil {
		t.Fatal(err)
	}
	b.deploy("shop", "send", eventlog.GrantAllow)
	var end error
	n := 0
	for raw, err := range client.Log(await(t), rpc.LogQuery{Follow: true}) {
		if n++; n == 1 {
			stop() // with the stream open
		}
		if raw == nil {
			end = err
		}
	}
	if !errors.Is(end, rpc.ErrUnreachable) {
		t.Errorf("the stream ended with %v", end)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := client.Do(await(t), "listWorkflows", nil, nil); !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("after the end: %v", err)
	}
	// What cannot be listened on is an error, not a wait.
	if err := b.server.Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("a closed listener: %v", err)
	}
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.server.cfg
	cfg.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion: tls.VersionTLS13}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	client := &rpc.Client{Operations: Table(), URL: "https://" + ln.Addr().String(), Token: testToken,
		HTTP: &http.Client{Transport: transport}}
	if err := client.Do(await(t), "listWorkflows", nil, nil); err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestClientErrors: what is no engine is told from what an engine refuses.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/runs" {
			http.Redirect(w, r, b.http.URL+"/v1/runs", http.StatusFound)
			return
		}
		http.Error(w, "nothing here", http.StatusTeapot)
	}))
	t.Cleanup(foreign.Close)
	client := &rpc.Client{Operations: Table(), URL: foreign.URL + "/"}
	for id, status := range map[string]int{"listWorkflows": 418, "listRuns": 302} {
		var p *rpc.Problem
		if err := client.Do(t.Context(), id, nil, nil); !errors.As(err, &p) || p.Status != status ||
			p.Code != "answer.foreign" || p.Hint == "" {
			t.Errorf("%s of a foreign server: %v", id, err)
		}
	}
	for _, c := range []struct {
		id     string
		params any
	}{
		{"noSuchOperation", nil}, {"getWorkflow", nil}, {"getWorkflow", map[string]any{"workflow": "x", "colour": "red"}},
		{"getWorkflow", []int{1}}, {"getWorkflow", map[string]any{"workflow": func() {}}},
	} {
		if err := b.client.Do(t.Context(), c.id, c.params, nil); err == nil || errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("%s %v: %v", c.id, c.params, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.client.Do(ctx, "listWorkflows", nil, nil); !errors.Is(err, context.Canceled) ||
		errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("a call given up: %v", err)
	}
}

// TestSegments: an id of any text is one segment of a path.
func TestSegments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	ids := []string{"a/b", "../..", "a%2Fb", "100%", "a b+c", "ä€😀", "?x=1&y#z", "{messageId}", "//", "a/"}
	b.push("shop", ids...)
	for _, id := range ids {
		var event struct{ MessageID string }
		err := b.client.Do(t.Context(), "getEvent", map[string]any{"workflow": "shop", "topic": "order.in", "messageId": id},
			&event)
		if err != nil || event.MessageID != id {
			t.Errorf("%q: %v, got %q", id, err, event.MessageID)
		}
	}
}

// TestCheckpointLag: the figure counts what the log has beyond the store, and falls to nothing with a flush.
func TestCheckpointLag(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *Config, bench *enginetest.Harness) { bench.Config.FlushEvery = time.Hour })
	b.deploy("shop", "fire", eventlog.GrantAsk)
	shows := func(n uint64) {
		t.Helper()
		_, body := b.request("GET", "/metrics", "")
		if line := fmt.Sprintf("\npawl_checkpoint_lag{partition=\"0\"} %d\n", n); !bytes.Contains(body, []byte(line)) {
			t.Errorf("there is no %s in\n%s", line, body)
		}
	}
	if err := b.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	shows(0)
	before := b.last()
	b.push("shop", "a")
	b.engine.Rest("shop")
	if b.last() == before {
		t.Fatal("nothing was recorded")
	}
	shows(b.last() - before)
	if err := b.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	shows(0)
}

// TestMetrics: the figures are there, parse, and count what happened.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "fire", eventlog.GrantAsk)
	b.push("shop", "a", "b")
	b.push("shop", "a") // it is there already
	b.engine.Rest("shop")
	b.refused("getWorkflow", map[string]any{"workflow": "nobody"})
	if err := b.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body := b.request("GET", "/metrics", "")
	for _, line := range []string{
		`pawl_events_pushed_total 2`,
		`pawl_http_requests_total{operation="deployWorkflow",status="201"} 1`,
		`pawl_http_requests_total{operation="getWorkflow",status="404"} 1`,
		`pawl_http_requests_total{operation="pushEvents",status="200"} 2`,
		`pawl_workflows{status="error"} 1`,
		`pawl_workflows{status="active"} 0`,
		`pawl_workflows_blocked{reason="approval"} 1`,
		`pawl_workflows_stopped 0`,
		`pawl_orphaned_reservations 0`,
		`pawl_active_runs 0`,
		`pawl_ready 1`,
		`pawl_sandbox_level{level="full"} 1`,
		`pawl_sandbox_level{level="partial"} 0`,
		`pawl_sandbox_level{level="none"} 0`,
		`pawl_script_workers{state="idle"} 1`,
		`pawl_script_workers_memory_bytes 7`,
		`pawl_script_worker_deaths_total{code="limit.memory"} 2`, `pawl_script_worker_deaths_total{code="worker.lost"} 0`,
		`pawl_script_worker_restarts_total 3`,
		`pawl_build_info{version="1.2.3"} 1`,
		fmt.Sprintf(`pawl_store_sequence{partition="0"} %d`, b.last()),
		`pawl_checkpoint_lag{partition="0"} 0`,
	} {
		if !bytes.Contains(body, []byte("\n"+line+"\n")) {
			t.Errorf("there is no %s", line)
		}
	}
	if !bytes.Contains(body, []byte("go_goroutines ")) {
		t.Error("the Go runtime's figures are missing")
	}
}

// TestVerifyFindsDifferences: a store that says something else than the log is found out.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	var v replay.Verification
	b.do("verifyLog", nil, &v)
	if !v.OK || v.Workflows != 1 {
		t.Fatalf("before: %+v", v)
	}
	if err := b.engine.Stop(); err != nil {
		t.Fatal(err)
	}
	// One event of the store gets another title, at the same revision.
	state := b.bench.FullFold("shop")
	key := projections.EventKey("order.in", "a")
	forged := *state.Event("order.in", "a")
	forged.Title = "forged"
	checkpoint, _, err := b.bench.Store.Checkpoint(0)
	if err != nil {
		t.Fatal(err)
	}
	state = new(projections.State).Hydrate(&state.Workflow, &forged)
	err = b.bench.Store.Commit(store.Batch{Partition: 0, Checkpoint: checkpoint,
		Changes: []store.Change{{State: state, Touched: []projections.Key{key}}}})
	if err != nil {
		t.Fatal(err)
	}
	v, err = replay.Verify(t.Context(), b.bench.Log, &readmodel.Reader{Store: b.bench.Store}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if v.OK || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], `event "a" of topic order.in: title`) {
		t.Errorf("after: %+v", v)
	}
}

// TestVerifyLargeWorkflow: more entities than are compared at once; and the log alone can be checked.
func TestVerifyLargeWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	ids := make([]string, 700)
	for i := range ids {
		ids[i] = fmt.Sprintf("e%d", i)
	}
	b.push("shop", ids...)
	for name, reader := range map[string]*readmodel.Reader{"with a store": b.server.cfg.Reader, "log only": nil} {
		if v, err := replay.Verify(t.Context(), b.bench.Log, reader, 0); err != nil || !v.OK || v.Workflows != 1 ||
			v.Transitions == 0 {
			t.Errorf("%s: %v %+v", name, err, v)
		}
	}
	empty, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = empty.Close() }()
	if err := empty.Commit(store.Batch{Checkpoint: store.Checkpoint{Seq: b.last()}}); err != nil {
		t.Fatal(err)
	}
	if v, err := replay.Verify(t.Context(), b.bench.Log, &readmodel.Reader{Store: empty}, 0); err != nil || v.OK ||
		!strings.Contains(v.Problems[0], "not in the local store") {
		t.Errorf("a store that claims to be complete: %v %+v", err, v)
	}
}

// TestVerifyWhileRunning: a check of a log that grows meanwhile finds nothing.
func TestVerifyWhileRunning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pushed := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("w%d", n)
			if err := b.client.Do(t.Context(), "pushEvents", map[string]any{"workflow": "shop", "topic": "order.in",
				"events": map[string]any{"messageId": name, "title": "x"}}, nil); err != nil {
				t.Errorf("push: %v", err)
			}
			if n%4 == 0 {
				if err := b.client.Do(t.Context(), "deployWorkflow", map[string]any{"source": orders(name, "send")},
					nil); err != nil {
					t.Errorf("deploy: %v", err)
				}
			}
		}
		pushed <- n
	}()
	for range 10 {
		var v replay.Verification
		b.do("verifyLog", nil, &v)
		if !v.OK {
			t.Errorf("%+v", v)
		}
	}
	stop()
	if n := <-pushed; n == 0 {
		t.Error("nothing was pushed meanwhile")
	}
}

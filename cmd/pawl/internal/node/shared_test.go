package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/feed"
	"github.com/pawl-run/pawl/ops/rpc"
)

// asNode has, in the environment of this test's binary, the settings of the node that it is to be.
const asNode = "PAWL_TEST_NODE"

// nodeSettings are what the nodes of a test differ in.
type nodeSettings struct{ Data, Node, URL, Sink, Worker string }

func TestMain(m *testing.M) {
	text := os.Getenv(asNode)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := runNode(text); err != nil {
		fmt.Fprintln(os.Stderr, "the node has ended:", err)
		os.Exit(1)
	}
}

// runNode is the program of a node: an engine as pawl serve runs it.
func runNode(text string) error {
	var n nodeSettings
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := config.Settings{
		Data: n.Data, HTTP: "127.0.0.1:0", Policies: schedule.Default(), Feed: true,
		Servers: config.Servers{URL: n.URL, Node: n.Node},
		Connectors: config.Connectors{
			HTTP: &httpcall.Config{Hosts: map[string]httpcall.HostConfig{n.Sink: {Private: true, Quiet: new(time.Second),
				Reconcile: &httpcall.ReconcileConfig{Get: "/seen?key={idempotencyKey}", Applied: httpcall.Rule{Status: 200},
					Failed: httpcall.Rule{Status: 404}}}}},
		},
	}
	with := storage.Parts{Worker: func() *exec.Cmd { return exec.Command(n.Worker) }}
	screen := term.Screen{Out: os.Stderr, Err: os.Stderr, Env: os.LookupEnv}
	return node.Operate(ctx, screen, s, with, func(context.Context, *node.Node) (node.SideTask, error) {
		return nil, nil
	}, nil)
}

// ordersScript posts each order that is pushed.
const ordersScript = `
export default Pawl.workflow({
  name: "NAME",
  topics: { "in": {} },
  hooks: { shop: Pawl.hook({ topic: "in", verify: "none", id: "{body:id}", title: "{body:id}" }) },
  consumers: {
    send: Pawl.consumer({
      subscribe: ["in"],
      async prepare(ctx) {
        const [order] = await ctx.peek("in", { limit: 1 });
        if (!order) return { reservations: [], data: null };
        return { reservations: [{ topic: "in", ids: [order.messageId] }], data: order.messageId };
      },
      async mutate(ctx, { data }) { await ctx.http.post({ url: "http://SINK/orders", body: { id: data } }); },
      async next(ctx) {},
    }),
  },
});
`

// sink counts the orders that are posted to it, and says whether a call has arrived.
type sink struct {
	mu    sync.Mutex
	posts map[string]int
	calls map[string]bool
	grown chan struct{}
}

// startSink starts a sink, and returns its host and port.
func startSink(t *testing.T) (s *sink, host string) {
	s = &sink{posts: map[string]int{}, calls: map[string]bool{}, grown: make(chan struct{}, 1)}
	receiver := httptest.NewServer(s)
	t.Cleanup(receiver.Close)
	return s, receiver.Listener.Addr().String()
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.calls[r.FormValue("key")] {
			http.NotFound(w, r)
		}
		return
	}
	var order struct{ ID string }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		return
	}
	s.mu.Lock()
	s.posts[order.ID]++
	s.calls[r.Header.Get("Idempotency-Key")] = true
	s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
}

// await waits until each of the orders was posted.
func (s *sink) await(t *testing.T, orders []string) {
	t.Helper()
	for timeout := time.After(90 * time.Second); ; {
		lacking := 0
		s.mu.Lock()
		for _, id := range orders {
			if s.posts[id] == 0 {
				lacking++
			}
		}
		s.mu.Unlock()
		if lacking == 0 {
			return
		}
		select {
		case <-s.grown:
		case <-timeout:
			t.Fatalf("%d of %d orders were not posted", lacking, len(orders))
		}
	}
}

// member is a node at work.
type member struct {
	t       *testing.T
	name    string
	process *exec.Cmd
	client  *rpc.Client
}

// startNode starts a node and waits until it answers.
func startNode(t *testing.T, n nodeSettings) *member {
	t.Helper()
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, name: n.Node, process: exec.Command(os.Args[0])}
	m.process.Env = append(os.Environ(), asNode+"="+string(text))
	m.process.Stderr = t.Output()
	if err := m.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	m.until("it answers", func() bool {
		address, err := datadir.HTTPAddress(n.Data)
		if err != nil || address == "" {
			return false
		}
		token, err := datadir.ReadToken(filepath.Join(n.Data, datadir.TokenFile))
		m.client = &rpc.Client{Operations: ops.Table(), URL: address, Token: token}
		return err == nil && m.do("listWorkflows", nil, nil) == nil
	})
	return m
}

func (m *member) until(what string, holds func() bool) {
	m.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-ticker.C {
		if time.Now().After(end) {
			m.t.Fatalf("node %s: in a minute it does not hold that %s", m.name, what)
		}
	}
}

func (m *member) do(operation string, params map[string]any, out any) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), 30*time.Second)
	defer cancel()
	return m.client.Do(ctx, operation, params, out)
}

// push pushes an order until it is acknowledged.
func (m *member) push(workflow, id string) {
	m.t.Helper()
	m.until("an order is acknowledged", func() bool {
		err := m.do("pushEvents", map[string]any{"workflow": workflow, "topic": "in",
			"events": []map[string]any{{"messageId": id, "title": id, "payload": map[string]any{}}}}, nil)
		var p *rpc.Problem
		if errors.As(err, &p) && p.Status < 500 {
			m.t.Fatalf("push %s: %v", id, err)
		}
		return err == nil
	})
}

func (m *member) kill() {
	_ = m.process.Process.Kill() // it may have ended
	_ = m.process.Wait()
}

// buildWorker builds the program that runs scripts.
func buildWorker(t *testing.T) string {
	t.Helper()
	worker := filepath.Join(t.TempDir(), "worker")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", worker, "../../../../sandbox/worker/testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a worker: %v\n%s", err, out)
	}
	return worker
}

// threeServers starts three servers that form a cluster, and returns their URLs as one setting.
func threeServers(t *testing.T) string {
	t.Helper()
	servers := natstest.NewCluster(t, 3, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = "127.0.0.1:0", true
	})
	var urls []string
	for _, s := range servers.Servers {
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

// Two nodes on three servers that are there without them share the work: what is pushed or posted to a hook through
// either is done once, also while one is killed, and the feed holds it all. A node that is stopped hands over at once.
func TestNodesOnServersOfOnesOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("a lease is waited for, up to 25 s")
	}
	t.Parallel()
	const workflows, each = 4, 5
	worker := buildWorker(t)
	url := threeServers(t)
	got, host := startSink(t)
	nc, err := storage.Servers(t.Context(), config.Servers{URL: url}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for range 2 { // the second finds what the first has made
		made, err := storage.Form(t.Context(), nc, slog.New(slog.DiscardHandler), storage.Layout{Partitions: 4, Replicas: 3})
		if err != nil || made.Partitions != 4 || made.Replicas != 3 {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	start := func(name string) *member {
		return startNode(t, nodeSettings{Data: filepath.Join(t.TempDir(), name), Node: name, URL: url, Sink: host,
			Worker: worker})
	}
	a, b := start("a"), start("b")
	owned := ownership(t, nc)
	a.until("both own partitions", func() bool { return owned("a") == 2 && owned("b") == 2 })

	var orders []string
	push := func(phase string, through ...*member) {
		for w := range workflows {
			for i := range each {
				id := fmt.Sprintf("%s-%d-%d", phase, w, i)
				if m, name := through[i%len(through)], fmt.Sprintf("w%d", w); i < each/2 {
					m.push(name, id)
				} else {
					m.post(name, id)
				}
				orders = append(orders, id)
			}
		}
	}
	for w := range workflows {
		source := strings.NewReplacer("NAME", fmt.Sprintf("w%d", w), "SINK", host).Replace(ordersScript)
		if err := a.do("deployWorkflow", map[string]any{"source": source, "filename": "w.js",
			"grants": map[string]string{"http.post": "allow"}},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	push("first", a, b)
	got.await(t, orders)
	orders = append(orders, throughAnyNode(t, nc, a, b, workflows)...)
	got.await(t, orders)

	push("killed", a, b)
	b.kill()
	killed := time.Now()
	push("after", a)
	got.await(t, orders)
	t.Logf("all was done %s after a node was killed", time.Since(killed).Round(100*time.Millisecond))

	c := start("c")
	c.until("it owns partitions", func() bool { return owned("c") > 0 })
	stopped := time.Now()
	if err := a.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.until("it owns all", func() bool { return owned("c") == 4 })
	t.Logf("all was handed over %s after a node was told to stop", time.Since(stopped).Round(10*time.Millisecond))
	push("last", c)
	got.await(t, orders)

	got.mu.Lock()
	for id, times := range got.posts {
		if times != 1 || strings.HasPrefix(id, skipped) {
			t.Errorf("order %s was posted %d times", id, times)
		}
	}
	got.mu.Unlock()
	wantFed(t, nc, len(orders))
}

// ownership counts the partitions of a node by the leases.
func ownership(t *testing.T, nc *nats.Conn) func(node string) int {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	leases, err := bucket.Open(t.Context(), js, storage.LeasesBucket)
	if err != nil {
		t.Fatal(err)
	}
	return func(node string) (owned int) {
		keys, err := leases.Keys(t.Context(), "partition.")
		if err != nil {
			t.Log(err) // the servers elect a leader
			return 0
		}
		for _, key := range keys {
			var entry lease.Entry
			text, _, err := leases.Get(t.Context(), key)
			if err == nil {
				err = json.Unmarshal(text, &entry)
			}
			if err != nil {
				t.Log(err)
				return 0
			}
			if entry.Engine != "" && entry.Node == node {
				owned++
			}
		}
		return owned
	}
}

// wantFed wants so many applied mutations in the feed.
func wantFed(t *testing.T, nc *nats.Conn, want int) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	consumer, err := js.OrderedConsumer(ctx, feed.StreamName(datadir.NATSPrefix), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"pawl.feed.*.mutation.applied"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for len(seen) < want {
		m, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil && ctx.Err() == nil {
			continue // its consumer is made again
		}
		if err != nil {
			t.Fatalf("the feed holds %d of %d: %v", len(seen), want, err)
		}
		seen[m.Headers().Get("ce-id")] = true
	}
}

//go:build unix

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// cluster is three nodes, each a process, the network between them, and the receiver.
type cluster struct {
	t     *testing.T
	sink  *sink
	net   *network
	nodes []*process
	web   *http.Client
}

// process is a node as the test sees it.
type process struct {
	cluster *cluster
	cfg     nodeConfig
	mu      sync.Mutex
	cmd     *exec.Cmd
	errors  *os.File
}

func newCluster(t *testing.T, options ...func(*nodeConfig)) *cluster {
	return newClusterOf(t, 3, options...)
}

func newClusterOf(t *testing.T, nodes int, options ...func(*nodeConfig)) *cluster {
	c := &cluster{t: t, sink: newSink(t), net: newNetwork(t), web: &http.Client{Timeout: 5 * time.Second}}
	var routes, listen []string
	for range nodes {
		listen = append(listen, natstest.FreeAddress(t))
	}
	for i, address := range listen {
		routes = append(routes, c.net.listen(fmt.Sprintf("n%d", i+1), address))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		n := &process{cluster: c, cfg: nodeConfig{Name: name, Dir: filepath.Join(t.TempDir(), name), Forms: i == 0,
			Listen: listen[i], Routes: routes, Advertise: routes[i], Sink: c.sink.host(), Renew: renew(),
			Control: natstest.FreeAddress(t), Replicas: 3}}
		for _, change := range options {
			change(&n.cfg)
		}
		c.nodes = append(c.nodes, n)
		if err := os.MkdirAll(n.cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if n.errors, err = os.Create(filepath.Join(t.TempDir(), name+".log")); err != nil {
			t.Fatal(err)
		}
		n.start()
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range c.nodes {
				text, err := n.ask(context.WithoutCancel(t.Context()), http.MethodGet, "/groups", "")
				t.Logf("what %s says of copies that are not current: %v\n%s", n.cfg.Name, err, text)
			}
		}
		for _, n := range c.nodes {
			n.kill()
			if text, err := os.ReadFile(n.errors.Name()); err == nil && t.Failed() {
				t.Logf("%s says:\n%s", n.cfg.Name, text[max(0, len(text)-6000):])
			}
		}
	})
	c.whole(2 * time.Minute)
	return c
}

// renew is how often leases are renewed: seldom, as always, or so often that a short test need not wait long.
func renew() time.Duration {
	if *all || *kills > 3 {
		return 0
	}
	return 500 * time.Millisecond
}

// start starts the process of the node.
func (n *process) start() {
	text, err := json.Marshal(n.cfg)
	if err != nil {
		n.cluster.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd = exec.Command(os.Args[0])
	n.cmd.Env = append(os.Environ(), nodeVariable+"="+string(text))
	n.cmd.Stderr = n.errors
	if err := n.cmd.Start(); err != nil {
		n.cluster.t.Fatal(err)
	}
}

func (n *process) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(s)
	}
}

// wait waits for the end of the process.
func (n *process) wait() error {
	err := n.cmd.Wait()
	n.mu.Lock()
	n.cmd = nil
	n.mu.Unlock()
	return err
}

// kill ends the process at once, whatever it is at.
func (n *process) kill() {
	if n.cmd == nil {
		return
	}
	n.signal(syscall.SIGCONT)
	n.signal(syscall.SIGKILL)
	_ = n.wait()
}

// ask sends a request to the node.
func (n *process) ask(ctx context.Context, method, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.cfg.Control+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := n.cluster.web.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return string(text), err
}

func (n *process) status(streams string) (s nodeStatus, err error) {
	text, err := n.ask(n.cluster.t.Context(), http.MethodGet, "/status?streams="+streams, "")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// until waits for something that no process tells of.
func (c *cluster) until(within time.Duration, what string, holds func() bool) time.Duration {
	c.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for ; !holds(); <-ticker.C {
		if time.Since(began) > within {
			c.t.Fatalf("after %s it does not hold yet that %s", within, what)
		}
	}
	return time.Since(began)
}

// whole waits until each node owns its share, and each stream has its copies.
func (c *cluster) whole(within time.Duration) {
	c.t.Helper()
	c.until(within, "the cluster is whole", func() bool {
		owned := 0
		for _, n := range c.nodes {
			s, err := n.status("")
			if err != nil || s.Owned < partitions/len(c.nodes) {
				return false
			}
			if len(s.Stopped) > 0 {
				c.t.Fatalf("%s has stopped: %v", n.cfg.Name, s.Stopped)
			}
			owned += s.Owned
		}
		s, err := c.nodes[0].status("all")
		return owned == partitions && err == nil && s.InStep
	})
}

// orders is a workflow that sends each order that is pushed.
const orders = `
export default Keep.workflow({
  name: "NAME",
  topics: { "in": {}, "sent": {} },
  consumers: {
    send: Keep.consumer({
      MEMBERS
      subscribe: ["in"],
      async prepare(ctx) {
        const [event] = await ctx.peek("in");
        if (!event) return { reservations: [], data: {} };
        return { reservations: [{ topic: "in", ids: [event.messageId] }], data: { order: event.messageId } };
      },
      async mutate(ctx, prepared) {
        await ctx.http.post({ url: "http://SINK/orders", body: { order: prepared.data.order } });
      },
      async next(ctx, prepared, result) {
        if (result.status === "applied") {
          await ctx.publish("sent", { messageId: prepared.data.order, title: "Sent", payload: {} });
        }
      },
    }),
  },
});
`

func workflow(i int) string { return fmt.Sprintf("w%d", i) }

// deploy deploys the workflows through all nodes; each fourth has a concurrent consumer.
func (c *cluster) deploy(workflows int) {
	c.t.Helper()
	for i := range workflows {
		members := ""
		if i%4 == 0 {
			members = "concurrency: 4,"
		}
		source := strings.NewReplacer("NAME", workflow(i), "SINK", c.sink.host(), "MEMBERS", members).Replace(orders)
		if _, err := c.nodes[i%len(c.nodes)].ask(c.t.Context(), http.MethodPost, "/deploy", source); err != nil {
			c.t.Fatalf("deploy %s: %v", workflow(i), err)
		}
	}
}

// load is what is pushed to the workflows.
type load struct {
	cluster *cluster
	stop    context.CancelFunc
	all     sync.WaitGroup
	mu      sync.Mutex
	// acknowledged are the orders whose push was.
	acknowledged []string
	// slowest is how long a push took, from its first try.
	slowest time.Duration
}

// begin pushes to each workflow one order after the other, every so often, until finish.
func (c *cluster) begin(workflows int, every time.Duration) *load {
	ctx, stop := context.WithCancel(c.t.Context())
	l := &load{cluster: c, stop: stop}
	for w := range workflows {
		l.all.Go(func() {
			pause := time.NewTicker(every)
			defer pause.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				l.push(ctx, w, fmt.Sprintf("%s-%d", workflow(w), i))
				select {
				case <-pause.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return l
}

// push pushes an order until it is acknowledged, by whichever node answers, or ctx ends.
func (l *load) push(ctx context.Context, w int, id string) {
	began := time.Now()
	path := "/push?" + url.Values{"workflow": {workflow(w)}, "id": {id}}.Encode()
	for i := w; ctx.Err() == nil; i++ {
		if _, err := l.cluster.nodes[i%len(l.cluster.nodes)].ask(ctx, http.MethodPost, path, ""); err == nil {
			l.mu.Lock()
			l.acknowledged = append(l.acknowledged, id)
			l.slowest = max(l.slowest, time.Since(began))
			l.mu.Unlock()
			return
		}
	}
}

// since forgets how long pushes took so far.
func (l *load) since() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = 0
}

func (l *load) slow() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slowest
}

// finish ends the load and holds that each acknowledged order arrives, and none twice.
func (l *load) finish() {
	c := l.cluster
	c.t.Helper()
	l.stop()
	l.all.Wait()
	c.sink.wantOnce(c.t, l.acknowledged, func(workflow string) string {
		why, _ := c.nodes[0].ask(context.WithoutCancel(c.t.Context()), http.MethodGet, "/why?workflow="+workflow, "")
		return why
	})
}

//go:build unix

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servers are three NATS servers of their own, each a process, which sync each write.
type servers struct {
	urls []string
	all  []*serverProcess
}

// serverProcess is one of them.
type serverProcess struct {
	t       *testing.T
	name    string
	program string
	config  string
	errors  *os.File
	cmd     *exec.Cmd
}

func startServers(t *testing.T) *servers {
	dir := t.TempDir()
	program := filepath.Join(dir, "nats-server")
	build := exec.Command("go", "build", "-o", program, "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	s := &servers{}
	var routes, clients []string
	for range 3 {
		routes, clients = append(routes, freeAddress(t)), append(clients, freeAddress(t))
	}
	for i := range 3 {
		name := fmt.Sprintf("s%d", i+1)
		config := filepath.Join(dir, name+".conf")
		text := fmt.Sprintf(`server_name: %s
listen: %q
jetstream { store_dir: %q, sync_interval: always }
cluster { name: faults, listen: %q, routes: ["nats-route://%s"] }
`, name, clients[i], filepath.Join(dir, name), routes[i], strings.Join(routes, `", "nats-route://`))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		errors, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		one := &serverProcess{t: t, name: name, program: program, config: config, errors: errors}
		one.start()
		t.Cleanup(one.kill)
		s.all, s.urls = append(s.all, one), append(s.urls, "nats://"+clients[i])
	}
	return s
}

func (s *serverProcess) start() {
	s.cmd = exec.Command(s.program, "-c", s.config)
	s.cmd.Stderr = s.errors
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *serverProcess) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

func (s *serverProcess) kill() {
	s.signal(syscall.SIGCONT)
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait() // it was killed
}

// Two engines on three servers of one's own: engines and servers are killed in turn, and stand still: nothing is sent
// twice, nothing acknowledged is lost, and the others go on.
func TestEnginesOnServersOfTheirOwn(t *testing.T) {
	if *kills == 0 {
		t.Skip("three servers need a machine that does nothing else: -faults.kills 2")
	}
	s := startServers(t)
	c := newClusterOf(t, 2, func(n *nodeConfig) { n.Servers = s.urls })
	c.deploy(workflows)
	l := c.begin(workflows, *each)
	c.working(time.Now())
	timed := func(what string, do, undo func()) {
		began := time.Now()
		do()
		took := c.working(began)
		if took > goesOn {
			t.Errorf("%s: all workflows are at work only after %s", what, took)
		}
		undo()
		back := time.Now()
		c.whole(2 * time.Minute)
		t.Logf("%s: at work again after %s; whole %s after it was back", what, took, time.Since(back))
	}
	for i := range *kills {
		n, server := c.nodes[i%2], s.all[i%3]
		timed(fmt.Sprintf("kill %d, of engine %s", i+1, n.cfg.Name), n.kill, n.start)
		timed(fmt.Sprintf("kill %d, of server %s", i+1, server.name), server.kill, server.start)
	}
	if *all {
		stop := func(p interface{ signal(syscall.Signal) }, sig syscall.Signal) func() {
			return func() { p.signal(sig) }
		}
		timed("engine stands still", stop(c.nodes[0], syscall.SIGSTOP), stop(c.nodes[0], syscall.SIGCONT))
		timed("server stands still", stop(s.all[0], syscall.SIGSTOP), stop(s.all[0], syscall.SIGCONT))
	}
	for _, n := range c.nodes {
		c.endsInOrder(l, n)
	}
	l.finish()
}

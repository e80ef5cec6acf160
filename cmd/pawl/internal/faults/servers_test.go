//go:build unix

package faults

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// servers are three NATS servers of their own, each a process, which sync each write. The third one keeps its data on a
// small disk where one can be made.
type servers struct {
	net   *network
	small string // the folder of the small disk; empty without one
	urls  []string
	all   []*serverProcess
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
	s := &servers{net: newNetwork(t)}
	var listen, routes, clients []string
	for i := range 3 {
		listen, clients = append(listen, natstest.FreeAddress(t)), append(clients, natstest.FreeAddress(t))
		routes = append(routes, s.net.listen(fmt.Sprintf("s%d", i+1), listen[i]))
	}
	if small := filepath.Join(dir, "s3"); os.Mkdir(small, 0o700) == nil && mountSmall(small, "400m") == nil {
		s.small = small
	}
	for i := range 3 {
		name := fmt.Sprintf("s%d", i+1)
		config := filepath.Join(dir, name+".conf")
		text := fmt.Sprintf(`server_name: %s
listen: %q
jetstream { store_dir: %q, sync_interval: always }
cluster { name: faults, listen: %q, advertise: %q, routes: ["nats-route://%s"] }
`, name, clients[i], filepath.Join(dir, name), listen[i], routes[i], strings.Join(routes, `", "nats-route://`))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		errors, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		one := &serverProcess{t: t, name: name, program: program, config: config, errors: errors}
		one.start()
		t.Cleanup(func() {
			one.kill()
			if text, err := os.ReadFile(errors.Name()); err == nil && t.Failed() {
				t.Logf("%s says:\n%s", name, text[max(0, len(text)-3000):])
			}
		})
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

// Two engines on three servers of one's own: engines and servers are killed in turn, stand still, are cut off, have
// wrong clocks and a full disk: nothing is sent twice, nothing acknowledged is lost, and the others go on.
func TestEnginesOnServersOfTheirOwn(t *testing.T) {
	if *kills == 0 {
		t.Skip("three servers need a machine that does nothing else: -faults.kills 2")
	}
	s := startServers(t)
	c := newClusterOf(t, 2, func(n *nodeConfig) {
		n.Servers = s.urls
		if n.Name == "n2" { // each begins with another server
			n.Servers = append(slices.Clone(s.urls[1:]), s.urls[0])
		}
	})
	if s.small != "" {
		t.Cleanup(func() {
			s.all[2].kill()
			_ = unmountSmall(s.small)
		})
	}
	c.deploy(workflows)
	l := c.begin(workflows, *each)
	c.working(time.Now())
	within := goesOn
	timed := func(what string, do, undo func()) {
		began := time.Now()
		do()
		took := c.working(began)
		if took > within {
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
		within = seenLate
		stop := func(p interface{ signal(syscall.Signal) }, sig syscall.Signal) func() {
			return func() { p.signal(sig) }
		}
		timed("engine stands still", stop(c.nodes[0], syscall.SIGSTOP), stop(c.nodes[0], syscall.SIGCONT))
		for i, server := range s.all { // one that is back leads nothing for a while, so each fault is of another one
			if i == 1 {
				timed("server "+server.name+" stands still", stop(server, syscall.SIGSTOP), stop(server, syscall.SIGCONT))
				continue
			}
			timed("server "+server.name+" is cut off", func() { s.net.set(server.name, true) },
				func() { s.net.set(server.name, false) })
		}
		for _, ahead := range []string{"1h", "0s", "-1h", "0s"} {
			set := time.Now()
			if _, err := c.nodes[1].ask(t.Context(), http.MethodPost, "/clock?ahead="+ahead, ""); err != nil {
				t.Fatal(err)
			}
			t.Logf("clock of %s set to %s: at work after %s", c.nodes[1].cfg.Name, ahead, c.working(set))
		}
		if s.small != "" {
			filler := filepath.Join(s.small, "filler")
			timed("disk of server s3 is full", func() { fill(t, filler) }, func() {
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
				s.all[2].kill()
				s.all[2].start()
			})
		}
	}
	for _, n := range c.nodes {
		c.endsInOrder(l, n)
	}
	l.finish()
}

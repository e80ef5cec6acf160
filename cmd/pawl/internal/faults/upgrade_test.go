//go:build unix

package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

var upgrade = flag.String("faults.upgrade", "", "folder for the program in two versions, which are built where they "+
	"are not there yet; empty leaves the test out")

// upgraded is a cluster of installed nodes whose workflows are at work all the time.
type upgraded struct {
	t     *testing.T
	sink  *sink
	nodes []*installed

	mu           sync.Mutex
	acknowledged []string
	slowest      time.Duration
}

const upgradedWorkflows = 8

// work pushes orders to each workflow, by whichever node answers, until ctx ends.
func (c *upgraded) work(ctx context.Context) *sync.WaitGroup {
	var all sync.WaitGroup
	for w := range upgradedWorkflows {
		all.Go(func() {
			pause := time.NewTicker(250 * time.Millisecond)
			defer pause.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				id, began := fmt.Sprintf("%s-%d", workflow(w), i), time.Now()
				for try := w; !c.nodes[try%len(c.nodes)].push(ctx, w, id); try++ {
					select {
					case <-ctx.Done():
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
				c.mu.Lock()
				c.acknowledged = append(c.acknowledged, id)
				c.slowest = max(c.slowest, time.Since(began))
				c.mu.Unlock()
				<-pause.C
			}
		})
	}
	return &all
}

// slow returns how long the slowest push took since the last call.
func (c *upgraded) slow() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.slowest
	c.slowest = 0
	return took
}

// whole waits until every copy is current, and each partition has an owner, as the node's status says.
func (c *upgraded) whole(n *installed) {
	c.t.Helper()
	status, err := "", errors.New("")
	defer func() {
		if c.t.Failed() {
			c.t.Logf("%v\n%s", err, status)
		}
	}()
	for end := time.Now().Add(3 * time.Minute); ; <-time.After(500 * time.Millisecond) {
		status, err = n.run("cluster", "status")
		if err == nil && strings.Contains(status, "every copy of the log is current") &&
			!strings.Contains(status, "no engine") && strings.Count(status, "node n") == len(c.nodes) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("the cluster is not whole: %v\n%s", err, status)
		}
	}
}

// replace ends a node and starts it with another program: that is how it is upgraded, and back.
func (c *upgraded) replace(n *installed, program string) {
	c.t.Helper()
	c.slow()
	began := time.Now()
	n.stop()
	ended := time.Since(began)
	n.start(program)
	c.whole(n)
	c.t.Logf("%s runs %s: it ended in %s and was whole again after %s; the slowest push meanwhile took %s", n.name,
		filepath.Base(program), ended.Round(time.Millisecond), time.Since(began).Round(time.Millisecond),
		c.slow().Round(time.Millisecond))
}

// script writes a workflow of the name, with a last line.
func (c *upgraded) script(name, more string) string {
	source := strings.NewReplacer("NAME", name, "SINK", c.sink.host(), "MEMBERS", "").Replace(orders) + more
	file := filepath.Join(c.t.TempDir(), name+".js")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// deploys deploys a script through each of the nodes, and holds that the command ends as it should.
func (c *upgraded) deploys(name, more string, want func(text string, err error) bool, through ...*installed) {
	c.t.Helper()
	for i, n := range through {
		began := time.Now()
		text, err := n.run("deploy", c.script(fmt.Sprintf("%s%d", name, i), more), "--grant", "http.post=allow")
		c.t.Logf("deploy through %s, which runs %s: %v after %s: %s", n.name, filepath.Base(n.program), err,
			time.Since(began).Round(time.Millisecond), lastLine(text))
		if !want(text, err) {
			c.t.Errorf("deploy through %s: %v\n%s", n.name, err, text)
		}
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

func done(_ string, err error) bool { return err == nil }

func held(text string, err error) bool {
	return err != nil && strings.Contains(text, "[format.held]") && strings.Contains(text, "pawl cluster upgrade")
}

// Three nodes go over to a next version of the program one after the other, one of them back and forth, while workflows
// are at work. What needs the next version's format is refused, whichever version owns the workflow's partition, until
// the format is raised; from then on the present version is refused. No order is sent twice and none is lost.
func TestTwoVersionsShareACluster(t *testing.T) {
	if *upgrade == "" {
		t.Skip("two versions of the program are built, which takes minutes: -faults.upgrade DIR")
	}
	present, next := buildTwo(t, *upgrade)
	c := &upgraded{t: t, sink: newSink(t)}
	var listen []string
	for range 3 {
		listen = append(listen, natstest.FreeAddress(t))
	}
	for i := range 3 {
		n := &installed{t: t, name: fmt.Sprintf("n%d", i+1), listen: listen[i], http: natstest.FreeAddress(t),
			sink: c.sink.host(), routes: listen}
		n.dir = filepath.Join(t.TempDir(), n.name)
		var err error
		if n.output, err = os.Create(n.dir + ".log"); err != nil {
			t.Fatal(err)
		}
		n.start(present)
		c.nodes = append(c.nodes, n)
		t.Cleanup(func() {
			_ = n.cmd.Process.Kill()
			<-n.ended
			if text, err := os.ReadFile(n.output.Name()); err == nil && t.Failed() {
				t.Logf("%s says:\n%s", n.name, text[max(0, len(text)-4000):])
			}
		})
	}
	first := c.nodes[0]
	for end := time.Now().Add(time.Minute); ; <-time.After(500 * time.Millisecond) {
		text, err := first.run("cluster", "init", "--partitions", "8")
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("cluster init: %v\n%s", err, text)
		}
	}
	c.whole(first)
	for w := range upgradedWorkflows {
		if text, err := first.run("deploy", c.script(workflow(w), ""), "--grant", "http.post=allow"); err != nil {
			t.Fatalf("deploy: %v\n%s", err, text)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	working := c.work(ctx)

	c.replace(first, next)
	c.deploys("mixed", "// "+newerMark+"\n", held, slices.Repeat([]*installed{first}, 8)...) // of partitions of each node
	c.deploys("plain", "", done, c.nodes...)
	c.replace(first, present)
	for _, n := range c.nodes {
		c.replace(n, next)
	}
	c.deploys("early", "// "+newerMark+"\n", held, c.nodes...)
	text, err := first.run("cluster", "upgrade")
	if t.Logf("cluster upgrade: %v: %s", err, strings.TrimSpace(text)); err != nil {
		t.Errorf("cluster upgrade: %v\n%s", err, text)
	}
	c.deploys("new", "// "+newerMark+"\n", done, c.nodes...)

	last := c.nodes[2]
	last.stop()
	last.start(present)
	select {
	case <-last.ended:
	case <-time.After(time.Minute):
		t.Error("the present version runs on a log that is newer")
		last.stop()
	}
	said, err := os.ReadFile(last.output.Name())
	if lines := strings.Split(strings.TrimSpace(string(said)), "\n"); err != nil ||
		!slices.ContainsFunc(lines[max(0, len(lines)-10):], func(line string) bool {
			return strings.Contains(line, "log format is newer than this pawl reads")
		}) {
		t.Errorf("the present version says on a newer log: %v\n%s", err, said[max(0, len(said)-2000):])
	} else {
		t.Logf("the present version on a newer log: %s", strings.Join(lines[max(0, len(lines)-2):], "\n"))
	}
	last.start(next)
	c.whole(last)
	stop()
	working.Wait()
	c.sink.wantOnce(t, c.acknowledged, func(workflow string) string {
		why, _ := first.run("why", workflow)
		return why
	})
}

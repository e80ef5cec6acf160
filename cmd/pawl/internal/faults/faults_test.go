//go:build unix

package faults

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

var (
	kills = flag.Int("faults.kills", 0, "how often a node is killed; 0 leaves the test out")
	all   = flag.Bool("faults.all", false, "also the faults that take long: stopped, cut off, clocks, full disks")
	each  = flag.Duration("faults.each", time.Second, "how often each workflow gets an order")
)

const (
	workflows = 64
	// goesOn is how long after a fault all workflows are at work again, at most: leases are waited for 20 s, and before
	// that servers may have to elect a leader, which takes up to 9 s. The rest is for a busy machine.
	goesOn = 30 * time.Second
	// seenLate is the same for a node that keeps its connections while it does nothing: the others find out later.
	seenLate = 45 * time.Second
	// handOver is how long a push may take, at most, while a node ends as it should.
	handOver = time.Second
	// settled is when nothing of before a fault can arrive any more.
	settled = 200 * time.Millisecond
)

// working waits until each workflow has sent an order after the moment, and returns how long that took.
func (c *cluster) working(since time.Time) time.Duration {
	c.t.Helper()
	c.until(2*time.Minute, "all workflows are at work", func() bool {
		return c.sink.workedSince(since.Add(settled)) == workflows
	})
	return time.Since(since)
}

// started is a cluster whose workflows are at work.
func started(t *testing.T) (*cluster, *load) {
	c := newCluster(t)
	c.deploy(workflows)
	l := c.begin(workflows, *each)
	c.working(time.Now())
	return c, l
}

// Nodes are killed in turn and come back; then one ends as it should, and comes back: nothing is sent twice, nothing
// acknowledged is lost, the others go on, and no push waits long for a node that ends as it should.
func TestNodesEnd(t *testing.T) {
	if *kills == 0 {
		t.Skip("three nodes need a machine that does nothing else: -faults.kills 2")
	}
	c, l := started(t)
	var took []time.Duration
	for i := range *kills {
		n := c.nodes[i%3]
		killed := time.Now()
		n.kill()
		took = append(took, c.working(killed))
		if last := took[i]; last > goesOn {
			t.Errorf("kill %d, of %s: all workflows are at work only after %s", i+1, n.cfg.Name, last)
		}
		t.Logf("kill %d, of %s: at work again after %s", i+1, n.cfg.Name, took[i])
		n.start()
		c.whole(2 * time.Minute)
	}
	slices.Sort(took)
	t.Logf("%d kills: at work again after %s at least, %s in the middle, %s at most", len(took), took[0],
		took[len(took)/2], took[len(took)-1])
	for _, n := range c.nodes[:ended()] {
		c.endsInOrder(l, n)
	}
	l.finish()
}

// endsInOrder ends a node as it should, and starts it again.
func (c *cluster) endsInOrder(l *load, n *process) {
	c.t.Helper()
	l.since()
	began := time.Now()
	n.signal(syscall.SIGTERM)
	if err := n.wait(); err != nil {
		c.t.Errorf("%s ends: %v", n.cfg.Name, err)
	}
	took := time.Since(began)
	c.working(time.Now())
	if slow := l.slow(); slow > handOver {
		c.t.Errorf("%s ends: a push took %s", n.cfg.Name, slow)
	}
	c.t.Logf("%s ended in %s: the slowest push meanwhile took %s", n.cfg.Name, took, l.slow())
	n.start()
	c.whole(2 * time.Minute)
}

// ended is how many nodes end as they should.
func ended() int {
	if *all {
		return 3
	}
	return 1
}

// A node stands still for longer than its leases last and goes on; then one is cut off from the others, and is back.
func TestNodesStandStillAndAreCutOff(t *testing.T) {
	if !*all {
		t.Skip("it takes minutes: -faults.all")
	}
	c, l := started(t)
	for _, fault := range []struct {
		name    string
		on, off func(*process)
	}{
		{"stands still", func(n *process) { n.signal(syscall.SIGSTOP) }, func(n *process) { n.signal(syscall.SIGCONT) }},
		{"is cut off", func(n *process) { c.net.set(n.cfg.Name, true) }, func(n *process) { c.net.set(n.cfg.Name, false) }},
	} {
		for _, n := range c.nodes[:2] {
			began := time.Now()
			fault.on(n)
			took := c.working(began)
			if took > seenLate {
				t.Errorf("%s %s: all workflows are at work only after %s", n.cfg.Name, fault.name, took)
			}
			fault.off(n)
			back := time.Now()
			c.whole(2 * time.Minute)
			t.Logf("%s %s: at work again after %s; whole %s after it was back", n.cfg.Name, fault.name, took,
				time.Since(back))
		}
	}
	l.finish()
}

// The clock of one node is set by an hour, there and back.
func TestClocksAreSet(t *testing.T) {
	if !*all {
		t.Skip("it takes minutes: -faults.all")
	}
	c, l := started(t)
	for _, ahead := range []string{"1h", "0s", "-1h", "0s"} {
		set := time.Now()
		if _, err := c.nodes[1].ask(t.Context(), http.MethodPost, "/clock?ahead="+ahead, ""); err != nil {
			t.Fatal(err)
		}
		t.Logf("clock of %s set to %s: at work after %s", c.nodes[1].cfg.Name, ahead, c.working(set))
	}
	l.finish()
}

// The disk of one node is full: the others go on, and the node comes back once there is space and it is started again.
func TestADiskIsFull(t *testing.T) {
	if !*all {
		t.Skip("it takes minutes: -faults.all")
	}
	dir := t.TempDir()
	if err := mountSmall(dir, "200m"); err != nil {
		t.Skip("no small disk can be made:", err)
	}
	c := newCluster(t, func(n *nodeConfig) {
		if n.Name == "n2" {
			n.Dir = dir
		}
	})
	t.Cleanup(func() {
		c.nodes[1].kill()
		_ = unmountSmall(dir)
	})
	c.deploy(workflows)
	l := c.begin(workflows, *each)
	c.working(time.Now())
	filler := filepath.Join(dir, "filler")
	full := time.Now()
	fill(t, filler)
	t.Logf("n2 has a full disk: at work after %s", c.working(full))
	<-time.After(20 * time.Second) // the disk stays full for some time
	t.Logf("at work %s after that", c.working(time.Now()))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.nodes[1].kill()
	c.nodes[1].start()
	c.whole(2 * time.Minute)
	l.finish()
}

// fill writes to the file until its disk is full.
func fill(t *testing.T, file string) {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	t.Logf("%s: %v", filepath.Base(file), err)
}

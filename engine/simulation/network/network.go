package network

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/lease"
)

// Network connects engines. Its methods are safe for concurrent use.
type Network struct {
	holdFor time.Duration
	begun   time.Time
	over    chan struct{}

	mu        sync.Mutex
	values    map[string][]byte
	revisions map[string]uint64
	last      uint64
	watchers  map[*watcher]bool
	answering map[int][]*answerer
	holdings  map[int]holding
	taken     int
	bad       string
}

// holding is the right to a partition, as the bucket has seen it.
type holding struct {
	engine string
	epoch  uint64
	until  time.Duration
}

// New makes a network without engines. holdFor is how long a lease is held after its last renewal was sent.
func New(holdFor time.Duration) *Network {
	return &Network{
		holdFor: holdFor, begun: time.Now(), over: make(chan struct{}), values: map[string][]byte{},
		revisions: map[string]uint64{}, watchers: map[*watcher]bool{}, answering: map[int][]*answerer{},
		holdings: map[int]holding{},
	}
}

// Close ends what waits for an answer, that of the dead too.
func (n *Network) Close() { close(n.over) }

// Rest lets time pass in the caller's bubble, until the network is closed.
func (n *Network) Rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.over:
	}
}

// Elapsed is the time since the network was made, which no one can set.
func (n *Network) Elapsed() time.Duration { return time.Since(n.begun) }

// Epoch is that in which the engine can hold the partition now, 0 where it cannot.
func (n *Network) Epoch(engine string, partition int) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.holdings[partition]
	if h.engine != engine || n.Elapsed() >= h.until {
		return 0
	}
	return h.epoch
}

// Taken counts how often a partition was taken.
func (n *Network) Taken() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.taken
}

// Bad says what the bucket has seen that must not be: a partition that was taken while another engine could hold it, or
// an epoch that does not grow. Empty for nothing.
func (n *Network) Bad() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bad
}

// put writes over a revision, 0 for none, and returns the new one, or 0. sent is when its sender has sent it. It is
// under mu.
func (n *Network) put(key string, value []byte, revision uint64, sent time.Duration) uint64 {
	if n.revisions[key] != revision {
		return 0
	}
	n.last++
	n.values[key], n.revisions[key] = value, n.last
	if number, ok := strings.CutPrefix(key, "partition."); ok {
		n.hold(number, value, sent)
	}
	for w := range n.watchers {
		w.tell(key, value)
	}
	return n.last
}

// hold takes in what is written about a partition. It is under mu.
func (n *Network) hold(number string, value []byte, sent time.Duration) {
	partition, err := strconv.Atoi(number)
	var e lease.Entry
	if err == nil {
		err = json.Unmarshal(value, &e)
	}
	if err != nil {
		n.violate("the entry of partition %s cannot be read: %v", number, err)
		return
	}
	before := n.holdings[partition]
	switch {
	case e.Engine == "":
		n.holdings[partition] = holding{epoch: e.Epoch}
		return
	case e.Engine != before.engine && n.Elapsed() < before.until:
		n.violate("%s takes partition %d while %s can hold it for another %s", e.Engine, partition, before.engine,
			before.until-n.Elapsed())
	case e.Engine != before.engine && e.Epoch <= before.epoch:
		n.violate("%s takes partition %d in epoch %d, and it had %d", e.Engine, partition, e.Epoch, before.epoch)
	}
	if e.Engine != before.engine {
		n.taken++
	}
	until := sent + n.holdFor
	if e.Engine == before.engine {
		until = max(until, before.until) // a renewal that was sent earlier may arrive later
	}
	n.holdings[partition] = holding{e.Engine, e.Epoch, until}
}

// violate keeps the first thing that must not be. It is under mu.
func (n *Network) violate(format string, args ...any) {
	if n.bad == "" {
		n.bad = fmt.Sprintf(format, args...)
	}
}

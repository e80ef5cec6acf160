package network

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine"
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

// watcher is told of what is written.
type watcher struct{ told chan write }

type write struct {
	key   string
	value []byte
}

// answerer is an engine that answers for a partition.
type answerer struct {
	link   *Link
	epoch  uint64
	ctx    context.Context
	answer func(ctx context.Context, request []byte) []byte
}

// New makes a network without engines. holdFor is how long a lease is held after its last renewal was sent.
func New(holdFor time.Duration) *Network {
	return &Network{
		holdFor: holdFor, begun: time.Now(), over: make(chan struct{}), values: map[string][]byte{},
		revisions: map[string]uint64{}, watchers: map[*watcher]bool{}, answering: map[int][]*answerer{},
		holdings: map[int]holding{},
	}
}

// Close ends all that waits for an answer, also in dead processes.
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

// Elapsed is the time since the network was made, by a clock that cannot be set.
func (n *Network) Elapsed() time.Duration { return time.Since(n.begun) }

// Way is a way that may be cut.
type Way int

// The ways of an engine.
const (
	ToLeases Way = iota
	ToPeers
	ToLog
	// Following is the way of records that others have written.
	Following
	ways
)

func (w Way) String() string {
	return [...]string{"the leases", "the others", "the log", "what is new"}[w]
}

// Link is the ways of one engine. Its methods are safe for concurrent use.
type Link struct {
	network *Network
	number  int
	latency time.Duration

	mu      sync.Mutex
	cut     [ways]bool
	dead    bool
	frozen  bool
	stopped time.Duration  // since when it stands still
	asked   int            // how many requests have come
	turns   map[string]int // how many requests were made, by key
	changed chan struct{}  // closed and replaced with each change
}

var (
	_ lease.Bucket = (*Link)(nil)
	_ engine.Peers = (*Link)(nil)
)

// Join adds the engine of a number, which no other one has.
func (n *Network) Join(number int) *Link {
	// Each has a time of its own on the way, so that what two of them do at once has an order.
	return &Link{network: n, number: number, latency: time.Millisecond + time.Duration(number)*17*time.Microsecond,
		changed: make(chan struct{}), turns: map[string]int{}}
}

// Cut cuts a way, or ends the cut.
func (l *Link) Cut(way Way, cut bool) { l.change(func() { l.cut[way] = cut }) }

// IsCut reports whether the way is cut.
func (l *Link) IsCut(way Way) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut[way]
}

// Freeze lets the process stand still, or go on.
func (l *Link) Freeze(frozen bool) {
	l.change(func() {
		if frozen && !l.frozen {
			l.stopped = l.network.Elapsed()
		}
		l.frozen = frozen
	})
}

// Frozen reports whether the process stands still.
func (l *Link) Frozen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen
}

// AwaitMotion returns once the process does not stand still, or the network is closed.
func (l *Link) AwaitMotion() {
	for {
		l.mu.Lock()
		still, changed := l.frozen, l.changed
		l.mu.Unlock()
		if !still {
			return
		}
		select {
		case <-changed:
		case <-l.network.over:
			return
		}
	}
}

// Kill ends the process without a word.
func (l *Link) Kill() { l.change(func() { l.dead = true }) }

func (l *Link) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

// Elapsed is what the process reads from a clock that cannot be set. The clock goes on while the process stands still,
// but the process reads it only when it runs again.
func (l *Link) Elapsed() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen {
		return l.stopped
	}
	return l.network.Elapsed()
}

// errLost says that an answer did not come in time.
var errLost = errors.New("no answer came in time")

// Pass waits until the process runs and its way is not cut. It returns an error when ctx ends, which a process that is
// dead or stands still does not see, and when the network is closed.
func (l *Link) Pass(ctx context.Context, way Way) error {
	for {
		l.mu.Lock()
		dead, frozen, cut, changed := l.dead, l.frozen, l.cut[way], l.changed
		l.mu.Unlock()
		done := ctx.Done()
		switch {
		case dead || frozen:
			done = nil // it does not see that its time is over
		case ctx.Err() != nil:
			return errLost
		case !cut:
			return nil
		}
		select {
		case <-changed:
		case <-done:
			return errLost
		case <-l.network.over:
			return errLost
		}
	}
}

// travel carries a request there, has it done, and carries the answer back.
func (l *Link) travel(ctx context.Context, way Way, do func()) error {
	return l.travelAs(ctx, way, 0, do)
}

// turn is by how much a request about the key takes longer than the shortest: those that have waited for a way that was
// cut set out at once, and arrive one after the other.
func (l *Link) turn(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns[key]++
	return time.Duration(l.turns[key]%16) * time.Microsecond
}

// travelAs is travel for a request that takes longer each way.
func (l *Link) travelAs(ctx context.Context, way Way, longer time.Duration, do func()) error {
	if err := l.Pass(ctx, way); err != nil {
		return err
	}
	l.network.Rest(l.latency + longer)
	do()
	l.network.Rest(l.latency + longer)
	return l.Pass(ctx, way)
}

package network

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/lease"
)

// Get implements lease.Bucket.
func (l *Link) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = l.travelAs(ctx, ToLeases, l.turn(key), func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		value, revision = l.network.values[key], l.network.revisions[key]
	})
	if err != nil {
		return nil, 0, err
	}
	return value, revision, nil
}

// Put implements lease.Bucket.
func (l *Link) Put(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	sent := l.network.Elapsed()
	err = l.travelAs(ctx, ToLeases, l.turn(key), func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		written = l.network.put(key, value, revision, sent)
	})
	if err != nil {
		return 0, err
	}
	return written, nil
}

// Keys implements lease.Bucket.
func (l *Link) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	err = l.travel(ctx, ToLeases, func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		for key := range l.network.values {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	return keys, nil
}

// tell notes a write, unless too many wait: a watch may lack some.
func (w *watcher) tell(key string, value []byte) {
	select {
	case w.told <- write{key, value}:
	default:
	}
}

// Watch implements lease.Bucket.
func (l *Link) Watch(ctx context.Context, written func(key string, value []byte)) error {
	w := &watcher{told: make(chan write, 64)}
	l.network.mu.Lock()
	l.network.watchers[w] = true
	l.network.mu.Unlock()
	defer func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.watchers, w)
	}()
	for {
		select {
		case told := <-w.told:
			if l.travel(ctx, ToLeases, func() {}) == nil {
				written(told.key, told.value)
			}
		case <-ctx.Done():
			return nil
		case <-l.network.over:
			return nil
		}
	}
}

// put writes over a revision, 0 for none, and returns the new one, or 0. sent is when its sender has sent it. The
// caller holds mu.
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

// hold takes in what is written about a partition. The caller holds mu.
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

// violate keeps the first violation. The caller holds mu.
func (n *Network) violate(format string, args ...any) {
	if n.bad == "" {
		n.bad = fmt.Sprintf(format, args...)
	}
}

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

// Bad is the first violation that the bucket has seen: a partition that was taken while another engine could hold it,
// or an epoch that does not grow. Empty for none.
func (n *Network) Bad() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bad
}

package jslog

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// fromInFiles and fromInMemory are how many transitions a batch has at least; fewer are sent singly. Where the server
	// stages batches in files, it makes, syncs and removes some for each batch, so that more are needed.
	fromInFiles  = 32
	fromInMemory = 12
	// window is how many transitions are sent singly at once where batches are staged in memory: those behind them
	// gather to a batch meanwhile.
	window = 4
)

func newCommitter(l *Log, partition int, stream jetstream.StreamConfig) (*committer, error) {
	c := &committer{
		log: l, partition: partition, batches: stream.AllowAtomicPublish, from: fromInFiles, window: l.cfg.MaxBatch,
		inbox:   l.nc.NewInbox() + ".",
		answers: make(chan *nats.Msg, 4*l.cfg.MaxBatch),
		timer:   time.NewTimer(time.Hour),
		ended:   make(chan struct{}),
		wake:    make(chan struct{}, 1),
		writing: make(map[eventlog.WorkflowName]struct{}),
		writers: newWriters(time.Now()),
		barrier: barrier{log: l},
	}
	if stage := l.cfg.Stage; stage != nil && c.batches && stream.Replicas == 1 {
		if err := stage(stream.Name); err != nil {
			l.cfg.Logger.Debug("the broker stages batches of writes in files, which is slower", slog.Any("reason", err))
		} else {
			c.from, c.window, c.staged = fromInMemory, window, true
		}
	}
	if l.cfg.BatchFrom > 0 {
		c.from = l.cfg.BatchFrom
	}
	var err error
	// Answers come straight into the channel that the committer reads: no goroutine in between.
	if c.sub, err = l.nc.ChanSubscribe(c.inbox+"*", c.answers); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	return c, nil
}

func (c *committer) run() {
	defer close(c.ended)
	for {
		waiting, closed := c.waiting()
		switch {
		case closed:
			c.mu.Lock()
			for _, r := range c.queue {
				r.fail(r.refuse(eventlog.ErrClosed))
			}
			c.queue = nil
			c.mu.Unlock()
			_ = c.sub.Unsubscribe()
			c.timer.Stop()
			return
		case waiting == 0:
			<-c.wake
			continue
		}
		if c.grouped {
			c.gather(waiting)
			if waiting, closed = c.waiting(); closed {
				continue
			}
		}
		most := c.window
		if c.inBatch(waiting) {
			most = c.log.cfg.MaxBatch
		}
		group := c.take(most, c.log.cfg.MaxBatchBytes)
		if c.grouped = c.inBatch(c.weight(group...)); c.grouped {
			c.batch(membersOf(group))
		} else {
			c.singly(group)
		}
	}
}

// gather lets the writers that the last group has just woken enqueue again before the next group is cut: otherwise
// every other group would consist of its first append alone. A batch that was staged in memory takes hardly any time.
// After such a batch the log rests first, so that on a busy log batches become fewer, larger and cheaper.
func (c *committer) gather(waiting int) {
	if c.staged && waiting < c.log.cfg.MaxBatch {
		half := c.writers.count(time.Now()) / 2
		c.rest(min(half, c.log.cfg.MaxBatch), min(time.Duration(c.last)*restPerWriter, longestRest))
	}
	for {
		runtime.Gosched()
		now, _ := c.waiting()
		if now == waiting || now >= c.log.cfg.MaxBatch {
			return
		}
		waiting = now
	}
}

// After a batch that was staged in memory the log rests until half of the workflows that have written lately wait to
// write again, so that one half is written while the other half computes. It never rests longer than restPerWriter for
// each workflow that wrote in the batch, nor longer than longestRest: workflows that wait for slow calls do not come
// back soon. A workflow that wrote several messages counts once, since its next ones come together too.
const (
	restPerWriter = 400 * time.Microsecond
	longestRest   = 10 * time.Millisecond
	// lately is how long at least a workflow counts after it has written; it counts for twice as long at most.
	lately = 50 * time.Millisecond
)

// writers counts the workflows that have written lately. The cost for each message does not depend on their number.
type writers struct {
	now, before map[eventlog.WorkflowName]struct{} // in this period and the one before; no workflow is in both
	since       time.Time                          // when now began
}

func newWriters(at time.Time) writers {
	return writers{make(map[eventlog.WorkflowName]struct{}), make(map[eventlog.WorkflowName]struct{}), at}
}

// wrote notes that the workflow has written. It also forgets others: a log that is not busy may not count for days.
func (w *writers) wrote(workflow eventlog.WorkflowName, at time.Time) {
	w.forget(at)
	delete(w.before, workflow)
	w.now[workflow] = struct{}{}
}

// count is how many workflows have written lately.
func (w *writers) count(at time.Time) int {
	w.forget(at)
	return len(w.now) + len(w.before)
}

// forget forgets the workflows that have not written lately.
func (w *writers) forget(at time.Time) {
	switch age := at.Sub(w.since); {
	case age >= 2*lately:
		clear(w.now)
		clear(w.before)
		w.since = at
	case age >= lately:
		w.before, w.now = w.now, w.before
		clear(w.now)
		w.since = at
	}
}

// rest waits until enough appends are in the queue, but no longer than the time given. Those that are enqueued earlier
// do not wake the committer.
func (c *committer) rest(enough int, longest time.Duration) {
	c.timer.Reset(longest)
	for c.setEnough(enough) {
		select {
		case <-c.wake:
		case <-c.timer.C:
			enough = 0
		}
	}
}

// setEnough sets how many appends in the queue wake the committer. It reports false where so many are there already or
// the log is closed; then each append wakes it again.
func (c *committer) setEnough(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enough = n
	if c.closed || len(c.queue) >= n {
		c.enough = 0
		return false
	}
	return true
}

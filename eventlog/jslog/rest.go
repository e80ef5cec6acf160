package jslog

import (
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// After a batch that was staged in memory the log rests until half of the workflows that have written lately wait to
// write again, so that one half is written while the other half computes. It never rests longer than restPerWriter for
// each workflow that wrote in the batch, nor longer than longestRest: workflows that wait for slow calls do not come
// back soon. A workflow that wrote several messages counts once, since its next ones come together too.
const (
	restPerWriter = 400 * time.Microsecond
	longestRest   = 10 * time.Millisecond
	// lately is how long a workflow counts that has written; it may count for twice as long.
	lately = 50 * time.Millisecond
)

// writers counts the workflows that have written lately. The cost for each message does not depend on their number.
type writers struct {
	now, before map[eventlog.WorkflowName]struct{} // no workflow is in both
	since       time.Time                          // when now began
}

func newWriters(at time.Time) writers {
	return writers{make(map[eventlog.WorkflowName]struct{}), make(map[eventlog.WorkflowName]struct{}), at}
}

// wrote notes that the workflow has written.
func (w *writers) wrote(workflow eventlog.WorkflowName) {
	delete(w.before, workflow)
	w.now[workflow] = struct{}{}
}

// count is how many workflows have written lately.
func (w *writers) count(at time.Time) int {
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
	return len(w.now) + len(w.before)
}

// rest waits until that many appends are in the queue, but no longer than the time given. Those that are enqueued
// earlier do not wake the committer.
func (c *committer) rest(until int, longest time.Duration) {
	c.timer.Reset(longest)
	for c.setEnough(until) {
		select {
		case <-c.wake:
		case <-c.timer.C:
			until = 0
		}
	}
}

// setEnough says how many appends in the queue wake the committer. It reports false where so many are there already or
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

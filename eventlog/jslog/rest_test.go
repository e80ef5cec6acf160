package jslog

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// TestRestEnds: a rest ends when enough appends wait, when its time is over, or when the log is closed.
func TestRestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queued  int
		wait    time.Duration // until one more append comes; 0: none comes
		close   bool
		want    time.Duration
		waiting int
	}{
		"enough wait already":      {queued: 3, want: 0, waiting: 3},
		"enough come":              {queued: 2, wait: time.Millisecond, want: time.Millisecond, waiting: 3},
		"its time is over":         {queued: 1, wait: 7 * time.Millisecond, want: 10 * time.Millisecond, waiting: 2},
		"the log is closed before": {queued: 1, close: true, want: 0, waiting: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &committer{wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), ended: make(chan struct{})}
				enqueue := func() { l.enqueue(&request{}) }
				for range c.queued {
					enqueue()
				}
				if c.close {
					go l.close()
					synctest.Wait()
				} else if c.wait > 0 {
					time.AfterFunc(c.wait, enqueue)
				}
				begin := time.Now()
				l.rest(3, 10*time.Millisecond)
				if rested := time.Since(begin); rested != c.want || len(l.queue) != c.waiting || l.enough != 0 {
					t.Errorf("rested %v with %d in the queue, want %v and %d; the next append wakes from %d on", rested,
						len(l.queue), c.want, c.waiting, l.enough)
				}
				close(l.ended)
			})
		})
	}
}

// TestWritersAreCountedOnceAndForgotten: a workflow counts once, for lately at least and twice lately at most after its
// last message.
func TestWritersAreCountedOnceAndForgotten(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	w := newWriters(begin)
	write := func(from, to int, after time.Duration) {
		for i := from; i < to; i++ {
			w.wrote(eventlog.WorkflowName(strconv.Itoa(i)), begin.Add(after))
		}
	}
	for _, step := range []struct {
		at       time.Duration
		from, to int // the workflows that write before the count
		want     int
	}{
		{0, 0, 4, 4},
		{lately / 2, 2, 6, 6},
		{lately, 0, 0, 6},
		{lately, 4, 8, 8},
		{2 * lately, 0, 0, 4},
		{2 * lately, 7, 8, 4},
		{3 * lately, 0, 0, 1},
		{9 * lately, 0, 0, 0},
	} {
		write(step.from, step.to, step.at)
		if n := w.count(begin.Add(step.at)); n != step.want {
			t.Errorf("after %v and writes of [%d, %d) %d workflows count, want %d", step.at, step.from, step.to, n,
				step.want)
		}
	}
	for i := range 1000 { // names do not pile up where count is not called
		write(i, i+1, time.Duration(10+i)*lately)
		if n := len(w.now) + len(w.before); n > 2 {
			t.Fatalf("%d workflows are kept that have not written lately", n)
		}
	}
}

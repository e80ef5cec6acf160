package jslog

import "time"

// way is how the groups of a busy committer are written.
type way int

const (
	// inBatches: one sync for many messages, but a server makes, syncs and removes files for each
	// batch.
	inBatches way = iota
	// singly: one sync for each message, and nothing else.
	singly
)

func (w way) other() way {
	if w == singly {
		return inBatches
	}
	return singly
}

const (
	// leastBatch is the least size of a group that is written as a batch.
	leastBatch = 12
	// mostSingly bounds a group that is written singly: on a slow disk that takes long.
	mostSingly = 64
	// window is how much time of writing is judged at once.
	window = 200 * time.Millisecond
	// A way is tried again after so many windows: after few at first, after more each time that it
	// turns out to be clearly the worse one.
	leastPause, mostPause = 8, 256
	// better is how much more a way must write to be preferred, worse how much less is clear.
	better, worse = 1.05, 0.9
)

// chooser finds out which way writes more in the same time, on this machine under this load. Disks
// differ by more than ten times in what a sync costs, and in what removing a file costs, and both ways
// feed back: the longer a group takes, the larger is the next. So it compares, one window against the
// next, and only while there is always something to write: otherwise nothing is to be gained.
type chooser struct {
	way   way
	trial bool    // the way is being tried, for one window
	known float64 // messages per second of the way before the trial
	pause int     // windows between trials
	left  int     // windows until the next trial

	sent       int // in this window
	busy, idle time.Duration
}

// batches reports whether a group of n is to be written as a batch.
func (c *chooser) batches(n int) bool {
	switch {
	case c.way == singly:
		return false
	case c.trial && c.sent == 0:
		return n > 1 // groups written singly stay small: without a first batch there is no second
	default:
		return n >= leastBatch
	}
}

// most bounds the size of the next group.
func (c *chooser) most(limit int) int {
	if c.way == singly {
		return min(limit, mostSingly)
	}
	return limit
}

// rested takes note of a time in which there was nothing to write.
func (c *chooser) rested(d time.Duration) { c.idle += d }

// wrote takes note of a group that was written.
func (c *chooser) wrote(n int, took time.Duration) {
	c.sent += n
	c.busy += took
	if c.busy < window {
		return
	}
	rate := float64(c.sent) / c.busy.Seconds()
	pressed := c.idle < c.busy/4
	c.sent, c.busy, c.idle = 0, 0, 0
	switch {
	case c.trial:
		c.judge(rate, pressed)
	case c.left > 0:
		c.left--
	case pressed:
		c.known, c.trial, c.way = rate, true, c.way.other()
	}
}

// judge ends a trial.
func (c *chooser) judge(rate float64, pressed bool) {
	c.trial = false
	if pressed && rate > better*c.known {
		c.pause, c.left = leastPause, leastPause
		return
	}
	c.way = c.way.other()
	c.pause = max(leastPause, c.pause)
	if rate < worse*c.known {
		c.pause = min(2*c.pause, mostPause)
	}
	c.left = c.pause
}

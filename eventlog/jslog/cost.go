package jslog

import "time"

// cost is what writing takes on this machine, as far as seen: one after the other each message
// costs a sync, and a batch has a fixed cost (files that the server makes, syncs and removes) but
// messages in it cost less. Disks differ by more than ten times in both, so it is measured.
type cost struct {
	single time.Duration // of one message of a group sent singly
	fixed  time.Duration // of a batch, beyond that of its messages
}

const (
	// firstFixed is taken for the fixed cost of a batch until one was measured.
	firstFixed = 2 * time.Millisecond
	leastFixed = time.Millisecond
	// firstFrom is the least size of a batch until anything was measured.
	firstFrom, leastFrom = 12, 4
	// inBatch is how many messages of a batch cost as much as one sent singly.
	inBatch = 2
	// weight is the part of what was known in a new estimate, against one of what was just seen.
	weight = 15
)

// batchFrom returns the least number of messages that are sooner written as a batch.
func (c *cost) batchFrom() int {
	if c.single == 0 {
		return firstFrom
	}
	fixed := c.fixed
	if fixed == 0 {
		fixed = firstFixed
	}
	return max(leastFrom, int(fixed/(c.single-c.single/inBatch)))
}

// singly learns from a group sent singly. One alone says nothing of a group.
func (c *cost) singly(n int, took time.Duration) {
	if n < 2 {
		return
	}
	c.single = blend(c.single, took/time.Duration(n))
	if n >= firstFrom {
		// What a batch costs was last measured at another time. Now and then one is tried again.
		c.fixed -= c.fixed / 256
	}
}

// batch learns from a batch.
func (c *cost) batch(n int, took time.Duration) {
	c.fixed = blend(c.fixed, max(leastFixed, took-time.Duration(n)*c.single/inBatch))
}

func blend(known, seen time.Duration) time.Duration {
	if known == 0 {
		return seen
	}
	return (known*weight + seen) / (weight + 1)
}

package lease

import "time"

// view is what an engine has seen of another engine's entry.
type view struct {
	renew     time.Duration // how often it is renewed
	revision  uint64
	unchanged time.Duration // for how long it was seen to be so
	last      time.Duration // when it was last seen; meaningful while sighted
	sighted   bool
}

// see notes the revision that was read at a time. The time between two looks counts only if they lie at most two
// renewals apart: an engine that stood still in between has seen nothing.
func (v *view) see(revision uint64, now time.Duration) {
	switch since := now - v.last; {
	case revision != v.revision:
		*v = view{renew: v.renew, revision: revision}
	case v.sighted && since <= 2*v.renew:
		v.unchanged += since
	}
	v.last, v.sighted = now, true
}

// blind notes that the entry could not be read: the time since it was last seen does not count.
func (v *view) blind() { v.sighted = false }

// again is how long after a look the next one follows. An entry that has missed a renewal, or could not be read, is
// looked at more often: perhaps no engine works on its partition.
func (v *view) again() time.Duration {
	if !v.sighted || v.unchanged > v.renew*3/2 && !v.stale() {
		return v.renew / 4
	}
	return v.renew / 2
}

// stale reports whether the entry was unchanged for so long that its writer has given it up or is gone.
func (v *view) stale() bool { return v.unchanged >= 10*v.renew }

// share is how many of the partitions the engine at this place of the sorted list should have.
func share(partitions, place, engines int) int {
	n := partitions / engines
	if place < partitions%engines {
		n++
	}
	return n
}

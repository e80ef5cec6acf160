package projections

import (
	"iter"

	"github.com/pawl-run/pawl/eventlog"
)

// dueTree orders places in the log and knows of each part of itself when the first of it comes due: the oldest place
// that is due is found in as many steps as the tree is high, however many wait for a later time. It is a persistent
// treap, whose shape follows from its places alone: the zero pointer is the empty tree, and a change returns a new tree
// that shares what it did not touch.
type dueTree struct {
	at  Ordinal
	due eventlog.Instant
	// first is the smallest due of this node and what is below it.
	first       eventlog.Instant
	left, right *dueTree
	// size is how many places there are.
	size int
}

// weight decides which of two places is nearer to the root. It spreads places that follow each other.
func (o Ordinal) weight() uint64 {
	x := o.Seq*0x9e3779b97f4a7c15 + uint64(o.N)*0xbf58476d1ce4e5b9
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// above reports whether a node for o belongs above one for p. Places differ, so that one of them is above.
func (o Ordinal) above(p Ordinal) bool {
	if a, b := o.weight(), p.weight(); a != b {
		return a > b
	}
	return o.Before(p)
}

func dueNode(at Ordinal, due eventlog.Instant, left, right *dueTree) *dueTree {
	t := &dueTree{at: at, due: due, first: due, left: left, right: right, size: 1 + left.count() + right.count()}
	if left != nil {
		t.first = min(t.first, left.first)
	}
	if right != nil {
		t.first = min(t.first, right.first)
	}
	return t
}

// count is how many places there are.
func (t *dueTree) count() int {
	if t == nil {
		return 0
	}
	return t.size
}

// put returns the tree with the place, due at the time.
func (t *dueTree) put(at Ordinal, due eventlog.Instant) *dueTree {
	switch {
	case t == nil:
		return dueNode(at, due, nil, nil)
	case t.at == at:
		return dueNode(at, due, t.left, t.right)
	case at.above(t.at):
		left, right := t.split(at)
		return dueNode(at, due, left, right)
	case at.Before(t.at):
		return dueNode(t.at, t.due, t.left.put(at, due), t.right)
	}
	return dueNode(t.at, t.due, t.left, t.right.put(at, due))
}

// split returns what stands before the place and what behind it. The place itself is not in the tree.
func (t *dueTree) split(at Ordinal) (before, behind *dueTree) {
	if t == nil {
		return nil, nil
	}
	if t.at.Before(at) {
		between, behind := t.right.split(at)
		return dueNode(t.at, t.due, t.left, between), behind
	}
	before, between := t.left.split(at)
	return before, dueNode(t.at, t.due, between, t.right)
}

// drop returns the tree without the place.
func (t *dueTree) drop(at Ordinal) *dueTree {
	switch {
	case t == nil:
		return nil
	case t.at == at:
		return joinDue(t.left, t.right)
	case at.Before(t.at):
		left := t.left.drop(at)
		if left == t.left {
			return t
		}
		return dueNode(t.at, t.due, left, t.right)
	}
	right := t.right.drop(at)
	if right == t.right {
		return t
	}
	return dueNode(t.at, t.due, t.left, right)
}

// joinDue makes one tree of two, the first of which stands before the second.
func joinDue(left, right *dueTree) *dueTree {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.at.above(right.at):
		return dueNode(left.at, left.due, left.left, joinDue(left.right, right))
	}
	return dueNode(right.at, right.due, joinDue(left, right.left), right.right)
}

// until yields the places that are due at now, the oldest first.
func (t *dueTree) until(now eventlog.Instant) iter.Seq[Ordinal] {
	return func(yield func(Ordinal) bool) { t.walk(now, yield) }
}

func (t *dueTree) walk(now eventlog.Instant, yield func(Ordinal) bool) bool {
	if t == nil || t.first > now {
		return true
	}
	return t.left.walk(now, yield) && (t.due > now || yield(t.at)) && t.right.walk(now, yield)
}

// latest is the newest of the places that are due at now.
func (t *dueTree) latest(now eventlog.Instant) (Ordinal, bool) {
	if t == nil || t.first > now {
		return Ordinal{}, false
	}
	if at, ok := t.right.latest(now); ok {
		return at, true
	}
	if t.due <= now {
		return t.at, true
	}
	return t.left.latest(now)
}

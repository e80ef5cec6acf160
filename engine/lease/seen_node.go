package lease

import "time"

// seenNode is what an engine has seen of the entry of a node.
type seenNode struct {
	view
	engine string
	since  time.Duration // when this engine was first seen there
}

// observe notes the engine and the revision that were read at a time.
func (n *seenNode) observe(engine string, revision uint64, now time.Duration) {
	if engine != n.engine {
		n.engine, n.since = engine, now
	}
	n.see(revision, now)
}

// mayCountEnded reports whether an engine may still count another one that has ended without saying so: it sees only
// after some time that the entry does not change. Until then it takes less than its share.
func mayCountEnded(seen map[string]*seenNode, now time.Duration) bool {
	gone, young := false, false
	for _, n := range seen {
		switch {
		case n.engine == "":
		case n.stale():
			gone = true
		case now-n.since < 12*n.renew: // longer than until an entry is stale
			young = true
		}
	}
	return gone && young
}

package lease

import "time"

// acquaintance is what an engine has seen of the entry of a node.
type acquaintance struct {
	view
	engine string
	since  time.Duration // when this engine was first seen there
}

// meet notes the engine and the revision that were read at a time.
func (a *acquaintance) meet(engine string, revision uint64, now time.Duration) {
	if engine != a.engine {
		a.engine, a.since = engine, now
	}
	a.see(revision, now)
}

// unsure reports whether an engine may still count another one that has ended without saying so: it sees only after
// some time that the entry does not change. Until then it takes less than its share.
func unsure(seen map[string]*acquaintance, now time.Duration) bool {
	gone, young := false, false
	for _, a := range seen {
		switch {
		case a.engine == "":
		case a.stale():
			gone = true
		case now-a.since < 12*a.renew: // longer than until an entry is stale
			young = true
		}
	}
	return gone && young
}

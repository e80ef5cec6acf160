package engine

import "github.com/pawl-run/pawl/projections/store"

// progress is how far a partition's log is dealt with. Records are dealt with in any order, one workflow
// beside the other; a checkpoint may only cover a stretch without a gap.
type progress struct {
	// low is the last record before which everything is dealt with.
	low store.Checkpoint
	// next is the first sequence that is not: it follows low, but for sequences that are lost.
	next uint64
	// ahead holds the records from there on that are dealt with already.
	ahead map[uint64]store.Checkpoint
}

// from begins after a checkpoint; a zero one is the beginning of the log.
func (p *progress) from(cp store.Checkpoint) {
	p.low, p.next, p.ahead = cp, cp.Seq+1, map[uint64]store.Checkpoint{}
}

// pass takes in that the record at cp is dealt with.
func (p *progress) pass(cp store.Checkpoint) {
	if cp.Seq < p.next {
		return
	}
	cp.Identity = p.low.Identity
	p.ahead[cp.Seq] = cp
	p.advance()
}

// skipTo takes in that the log holds nothing between what is dealt with and seq: that was accepted as lost.
// It must not be told so of a record that comes later.
func (p *progress) skipTo(seq uint64) {
	p.next = max(p.next, seq)
	p.advance()
}

func (p *progress) advance() {
	for {
		cp, ok := p.ahead[p.next]
		if !ok {
			return
		}
		delete(p.ahead, p.next)
		p.low = cp
		p.next++
	}
}

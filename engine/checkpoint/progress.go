package checkpoint

import (
	"slices"

	"github.com/pawl-run/pawl/projections/store"
)

// Progress is how far a partition's log is dealt with. Records of different workflows are dealt with in any order; a
// checkpoint may only cover a stretch without a gap.
type Progress struct {
	// Low is the last record before which everything is dealt with.
	Low store.Checkpoint
	// Next is the first sequence that is not dealt with: it follows Low, apart from sequences that are lost.
	Next uint64
	// ahead are the stretches from there on that are dealt with already, in order, with a gap before each.
	// However long a gap stays open, they are as few as there are gaps.
	ahead []stretch
}

// stretch is a part of the log without a gap.
type stretch struct {
	from uint64
	last store.Checkpoint
}

// Gap is a part of the log that is not dealt with, though something behind it is. Both ends are included.
type Gap struct{ From, To uint64 }

// From begins after a checkpoint; a zero one is the beginning of the log.
func (p *Progress) From(cp store.Checkpoint) { p.Low, p.Next, p.ahead = cp, cp.Seq+1, nil }

// Pass takes in that the record at cp is dealt with.
func (p *Progress) Pass(cp store.Checkpoint) {
	if cp.Seq < p.Next {
		return
	}
	cp.Identity = p.Low.Identity
	// i is the first stretch that ends at cp or later.
	i, _ := slices.BinarySearchFunc(p.ahead, cp.Seq, func(s stretch, seq uint64) int {
		if s.last.Seq < seq {
			return -1
		}
		return 1
	})
	switch {
	case i < len(p.ahead) && p.ahead[i].from <= cp.Seq:
		return // it is known
	case i > 0 && p.ahead[i-1].last.Seq == cp.Seq-1:
		i--
		p.ahead[i].last = cp
	default:
		p.ahead = slices.Insert(p.ahead, i, stretch{cp.Seq, cp})
	}
	if i+1 < len(p.ahead) && p.ahead[i+1].from == cp.Seq+1 {
		p.ahead[i].last = p.ahead[i+1].last
		p.ahead = slices.Delete(p.ahead, i+1, i+2)
	}
	p.advance()
}

// SkipTo takes in that the log holds nothing between what is dealt with and seq: that was accepted as lost.
// It must not be called for a record that is still to come.
func (p *Progress) SkipTo(seq uint64) {
	p.Next = max(p.Next, seq)
	p.advance()
}

// Held counts the stretches that are dealt with beyond a gap.
func (p *Progress) Held() int { return len(p.ahead) }

func (p *Progress) advance() {
	passed := 0
	for passed < len(p.ahead) && p.ahead[passed].from <= p.Next {
		if last := p.ahead[passed].last; last.Seq >= p.Next {
			p.Low, p.Next = last, last.Seq+1
		}
		passed++
	}
	p.ahead = slices.Delete(p.ahead, 0, passed)
}

// End is the first sequence behind everything that is dealt with.
func (p *Progress) End() uint64 {
	if n := len(p.ahead); n > 0 {
		return p.ahead[n-1].last.Seq + 1
	}
	return p.Next
}

// Gaps returns what is not dealt with although something behind it is.
func (p *Progress) Gaps() []Gap {
	var open []Gap
	from := p.Next
	for _, s := range p.ahead {
		open = append(open, Gap{from, s.from - 1})
		from = s.last.Seq + 1
	}
	return open
}

package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/projections/store"
)

// What is dealt with out of order is held until the gap before it closes; what was accepted as lost is no
// gap; and nothing stays behind.
func TestProgress(t *testing.T) {
	t.Parallel()
	at := func(seq uint64) store.Checkpoint { return store.Checkpoint{Seq: seq} }
	for _, c := range []struct {
		name  string
		do    func(*progress)
		low   uint64
		next  uint64
		ahead int
	}{
		{"nothing", func(*progress) {}, 4, 5, 0},
		{"in order", func(p *progress) { p.pass(at(5)); p.pass(at(6)) }, 6, 7, 0},
		{"out of order", func(p *progress) { p.pass(at(6)); p.pass(at(7)) }, 4, 5, 1},
		{"the gap closes", func(p *progress) { p.pass(at(6)); p.pass(at(7)); p.pass(at(5)) }, 7, 8, 0},
		{"two gaps", func(p *progress) { p.pass(at(9)); p.pass(at(6)); p.pass(at(7)) }, 4, 5, 2},
		{"two gaps, one closes", func(p *progress) { p.pass(at(9)); p.pass(at(7)); p.pass(at(8)); p.pass(at(7)) }, 4, 5, 1},
		{"both close", func(p *progress) { p.pass(at(9)); p.pass(at(6)); p.pass(at(5)); p.pass(at(8)); p.pass(at(7)) }, 9, 10, 0},
		{"a hole before a stretch and within", func(p *progress) { p.pass(at(7)); p.pass(at(8)); p.skipTo(8) }, 8, 9, 0},
		{"twice", func(p *progress) { p.pass(at(5)); p.pass(at(5)); p.pass(at(3)) }, 5, 6, 0},
		{"a hole", func(p *progress) { p.pass(at(5)); p.skipTo(9); p.pass(at(9)) }, 9, 10, 0},
		{"a hole before what was dealt with already", func(p *progress) { p.pass(at(9)); p.skipTo(9) }, 9, 10, 0},
		{"a hole at the end", func(p *progress) { p.pass(at(5)); p.skipTo(8) }, 5, 8, 0},
		{"and after it", func(p *progress) { p.pass(at(5)); p.skipTo(8); p.pass(at(8)) }, 8, 9, 0},
		{"no step back", func(p *progress) { p.pass(at(5)); p.skipTo(2) }, 5, 6, 0},
	} {
		var p progress
		p.from(store.Checkpoint{Seq: 4, Identity: "this log"})
		c.do(&p)
		if p.low.Seq != c.low || p.next != c.next || len(p.ahead) != c.ahead || p.low.Identity != "this log" {
			t.Errorf("%s: low %+v, next %d, %d ahead; want %d, %d, %d", c.name, p.low, p.next, len(p.ahead), c.low, c.next, c.ahead)
		}
	}
}

// However the order, and however long a gap stays open, what is held is one stretch for each gap.
func TestProgressInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		const n = 200
		drawn := rand.New(rand.NewPCG(seed, 9))
		var p progress
		p.from(store.Checkpoint{})
		passed := map[uint64]bool{}
		for _, i := range drawn.Perm(n) {
			seq := uint64(i) + 1
			p.pass(store.Checkpoint{Seq: seq})
			passed[seq] = true
			var want []gap
			for from := uint64(1); from <= n; from++ {
				to := from
				for to <= n && !passed[to] {
					to++
				}
				if to > from && to <= n {
					want = append(want, gap{from, to - 1})
				}
				from = to
			}
			low := uint64(0)
			for passed[low+1] {
				low++
			}
			if got := p.gaps(); p.low.Seq != low || p.next != low+1 || !slices.Equal(got, want) || len(p.ahead) != len(want) {
				t.Fatalf("seed %d after %d: low %d, want %d; gaps %v, want %v", seed, seq, p.low.Seq, low, got, want)
			}
		}
	}
}

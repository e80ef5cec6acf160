package checkpoint

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
		do    func(*Progress)
		low   uint64
		next  uint64
		ahead int
	}{
		{"nothing", func(*Progress) {}, 4, 5, 0},
		{"in order", func(p *Progress) { p.Pass(at(5)); p.Pass(at(6)) }, 6, 7, 0},
		{"out of order", func(p *Progress) { p.Pass(at(6)); p.Pass(at(7)) }, 4, 5, 1},
		{"the gap closes", func(p *Progress) { p.Pass(at(6)); p.Pass(at(7)); p.Pass(at(5)) }, 7, 8, 0},
		{"two gaps", func(p *Progress) { p.Pass(at(9)); p.Pass(at(6)); p.Pass(at(7)) }, 4, 5, 2},
		{"two gaps, one closes", func(p *Progress) { p.Pass(at(9)); p.Pass(at(7)); p.Pass(at(8)); p.Pass(at(7)) }, 4, 5, 1},
		{
			"both close",
			func(p *Progress) { p.Pass(at(9)); p.Pass(at(6)); p.Pass(at(5)); p.Pass(at(8)); p.Pass(at(7)) },
			9, 10, 0,
		},
		{"a hole before a stretch and within", func(p *Progress) { p.Pass(at(7)); p.Pass(at(8)); p.SkipTo(8) }, 8, 9, 0},
		{"twice", func(p *Progress) { p.Pass(at(5)); p.Pass(at(5)); p.Pass(at(3)) }, 5, 6, 0},
		{"a hole", func(p *Progress) { p.Pass(at(5)); p.SkipTo(9); p.Pass(at(9)) }, 9, 10, 0},
		{"a hole before what was dealt with already", func(p *Progress) { p.Pass(at(9)); p.SkipTo(9) }, 9, 10, 0},
		{"a hole at the end", func(p *Progress) { p.Pass(at(5)); p.SkipTo(8) }, 5, 8, 0},
		{"and after it", func(p *Progress) { p.Pass(at(5)); p.SkipTo(8); p.Pass(at(8)) }, 8, 9, 0},
		{"no step back", func(p *Progress) { p.Pass(at(5)); p.SkipTo(2) }, 5, 6, 0},
	} {
		var p Progress
		p.From(store.Checkpoint{Seq: 4, Identity: "this log"})
		c.do(&p)
		if p.Low.Seq != c.low || p.Next != c.next || len(p.ahead) != c.ahead || p.Low.Identity != "this log" {
			t.Errorf("%s: low %+v, next %d, %d ahead; want %d, %d, %d", c.name, p.Low, p.Next, len(p.ahead), c.low, c.next,
				c.ahead)
		}
	}
}

// However the order, and however long a gap stays open, what is held is one stretch for each gap.
func TestProgressInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		const n = 200
		drawn := rand.New(rand.NewPCG(seed, 9))
		var p Progress
		p.From(store.Checkpoint{})
		passed := map[uint64]bool{}
		for _, i := range drawn.Perm(n) {
			seq := uint64(i) + 1
			p.Pass(store.Checkpoint{Seq: seq})
			passed[seq] = true
			var want []Gap
			for from := uint64(1); from <= n; from++ {
				to := from
				for to <= n && !passed[to] {
					to++
				}
				if to > from && to <= n {
					want = append(want, Gap{from, to - 1})
				}
				from = to
			}
			low := uint64(0)
			for passed[low+1] {
				low++
			}
			if got := p.Gaps(); p.Low.Seq != low || p.Next != low+1 || !slices.Equal(got, want) || len(p.ahead) != len(want) {
				t.Fatalf("seed %d after %d: low %d, want %d; gaps %v, want %v", seed, seq, p.Low.Seq, low, got, want)
			}
		}
	}
}

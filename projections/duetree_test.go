package projections

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// places lists what the tree holds, and checks that each node is where it belongs.
func (t *dueTree) places(tt *testing.T) (all []Ordinal, height int) {
	tt.Helper()
	if t == nil {
		return nil, 0
	}
	left, l := t.left.places(tt)
	right, r := t.right.places(tt)
	first := t.due
	for _, below := range []*dueTree{t.left, t.right} {
		if below == nil {
			continue
		}
		if first = min(first, below.first); below.at.above(t.at) {
			tt.Fatalf("%v stands below %v", below.at, t.at)
		}
	}
	if first != t.first {
		tt.Fatalf("below %v the first is due at %d, not %d", t.at, first, t.first)
	}
	return slices.Concat(left, []Ordinal{t.at}, right), max(l, r) + 1
}

// A due tree yields what is due, the oldest first; a former tree stays as it was; and what looks at a way from the
// root sees few nodes, however places follow each other.
func TestDueTree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 0))
		var tree, before *dueTree
		due := map[Ordinal]eventlog.Instant{}
		var kept []Ordinal
		const most = 2000
		for n := range most {
			at := Ordinal{Seq: uint64(n), N: uint32(chance.IntN(3))}
			if seed%2 == 1 {
				at = Ordinal{Seq: uint64(chance.IntN(300)), N: uint32(chance.IntN(3))}
			}
			if chance.IntN(3) == 0 && len(due) > 0 {
				for old := range due {
					at = old
					break
				}
				tree = tree.drop(at)
				delete(due, at)
			} else {
				due[at] = eventlog.Instant(chance.IntN(50))
				tree = tree.put(at, due[at])
			}
			if n == most/2 {
				before = tree
				kept, _ = before.places(t)
			}
			if n%100 != 99 {
				continue
			}
			all, height := tree.places(t)
			if !slices.IsSortedFunc(all, func(a, b Ordinal) int {
				if a.Before(b) {
					return -1
				}
				return 1
			}) || len(all) != len(due) {
				t.Fatalf("seed %d: it holds %v, want %v in order", seed, all, due)
			}
			if most := 5 * bits.Len(uint(len(all))); height > most {
				t.Errorf("seed %d: %d places stand %d deep, more than %d", seed, len(all), height, most)
			}
			now, first := eventlog.Instant(chance.IntN(60)), eventlog.Instant(math.MaxInt64)
			var want []Ordinal
			for _, at := range all {
				if first = min(first, due[at]); due[at] <= now {
					want = append(want, at)
				}
			}
			if got := slices.Collect(tree.until(now)); !slices.Equal(got, want) {
				t.Fatalf("seed %d: at %d it yields %v, want %v", seed, now, got, want)
			}
			newest, found := tree.latest(now)
			if found != (len(want) > 0) || found && newest != want[len(want)-1] {
				t.Fatalf("seed %d: at %d the newest is %v (%t), want the last of %v", seed, now, newest, found, want)
			}
			if tree != nil && tree.first != first {
				t.Fatalf("seed %d: the first is due at %d, want %d", seed, tree.first, first)
			}
		}
		if now, _ := before.places(t); !slices.Equal(now, kept) {
			t.Fatalf("seed %d: a former tree has changed", seed)
		}
	}
}

// C2: of a key that waits behind a held event only that event is looked at, however many wait behind it.
func TestC2_OneOfAKeyIsLookedAt(t *testing.T) {
	t.Parallel()
	s := new(State).Hydrate(&Workflow{Name: "w", Head: eventlog.Head{Revision: 1}, Version: "1.0"}, &Script{Version: "1.0",
		Definition: eventlog.Definition{Consumers: []eventlog.Consumer{{Name: "c", Subscribe: []eventlog.Topic{"t"},
			Concurrency: 4, Key: "k"}}}})
	const waiting = 5000
	event := func(n int, payload string, held *Held) *TopicEvent {
		return &TopicEvent{Topic: "t", MessageID: eventlog.MessageID(payload + string(rune(n))), Payload: []byte(payload),
			Status: eventlog.EventStatusPending, Created: Ordinal{Seq: uint64(n + 1)}, Held: held}
	}
	s = s.Hydrate(event(0, `{"k":"held"}`, &Held{Reason: eventlog.HeldPerson}))
	for n := range waiting {
		s = s.Hydrate(event(n+1, `{"k":"held"}`, nil))
	}
	s = s.Hydrate(event(waiting+1, `{"k":"free"}`, nil))
	tree, _ := s.lanes.untried.get("t")
	if all, _ := tree.places(t); len(all) != 1 || all[0].Seq != waiting+2 {
		t.Errorf("%d places are looked at: %v", len(all), all[:min(len(all), 5)])
	}
}

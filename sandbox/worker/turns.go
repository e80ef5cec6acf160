package worker

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

// lookAhead is how many workflows behind the first in turn are looked at for one whose script is at hand.
const lookAhead = 128

// line has the calls of one workflow that wait, in order of arrival.
type line struct {
	key     string
	waiters []*waiter
	// passed is how often a workflow behind this one went before it, since its last turn. Workflows that stand before the
	// first candidate are not counted.
	passed int
}

// join puts a call at the end of its workflow's line.
func (s *scheduler) join(w *waiter) {
	turn := s.lines[w.key]
	if turn == nil {
		turn = s.turns.PushBack(&line{key: w.key})
		s.lines[w.key] = turn
	}
	l := lineOf(turn)
	l.waiters = append(l.waiters, w)
}

func lineOf(turn *list.Element) *line { return turn.Value.(*line) }

// waiting is how many calls wait.
func (s *scheduler) waiting() (n int) {
	for _, turn := range s.lines {
		n += len(lineOf(turn).waiters)
	}
	return n
}

// candidate is a call that could get a slot now.
type candidate struct {
	turn   *list.Element
	waiter *waiter
	// used is what its workflow has used lately. It is zero for a workflow that is not heavy, or that has waited for
	// longestHeavyWait.
	used time.Duration
}

// picking is one choice of the next call.
type picking struct {
	*scheduler
	now time.Time
	// possible says which waiters could go on with a slot, near which of them have no reason to let others go first.
	possible, near func(*waiter) bool
	heldBySlow     func() int
}

// pick chooses the call that gets a slot next: first those of workflows that use little, in turns, then the heavy
// ones by what they have used.
func (s *scheduler) pick(now time.Time, possible, near func(*waiter) bool) *waiter {
	p := picking{s, now, possible, near, sync.OnceValue(func() int { return s.heldBySlow(now) })}
	var chosen candidate
	for turn := s.turns.Front(); turn != nil; turn = turn.Next() {
		c, ok := p.candidateOf(turn)
		if ok && (chosen.turn == nil || c.used < chosen.used) {
			chosen = c
		}
		if ok && c.used == 0 {
			chosen = p.firstNear(c)
			break
		}
	}
	if chosen.turn == nil {
		return nil
	}
	lineOf(chosen.turn).passed = 0
	s.turns.MoveToBack(chosen.turn) // its turn is over
	s.remove(chosen.waiter)
	return chosen.waiter
}

// candidateOf finds the first call of a workflow's line that could get a slot now; false says that there is none.
func (p *picking) candidateOf(turn *list.Element) (candidate, bool) {
	l := lineOf(turn)
	a := p.usage(l.key, p.now)
	oldest := p.now.Sub(l.waiters[0].since)
	if !p.admits(a, oldest) {
		return candidate{}, false
	}
	i := slices.IndexFunc(l.waiters, func(w *waiter) bool {
		return p.possible(w) && (w.process || p.mayHold(a, p.heldBySlow))
	})
	if i < 0 {
		return candidate{}, false
	}
	c := candidate{turn: turn, waiter: l.waiters[i]}
	if a.heavy() && oldest < longestHeavyWait {
		c.used = a.used
	}
	return c, true
}

// firstNear is the call whose turn it is, if that call is near. Otherwise it is the first near call of the next
// lookAhead workflows, if there is one. A workflow is passed at most as often as there are workflows that wait, so it
// waits at most about twice as long as without passing. A heavy one, whose turn has come since it has waited for so
// long, is not passed.
func (p *picking) firstNear(first candidate) candidate {
	l := lineOf(first.turn)
	if l.passed >= p.turns.Len() || p.usages[l.key].heavy() || p.near(first.waiter) {
		return first
	}
	turn := first.turn
	for range lookAhead {
		if turn = turn.Next(); turn == nil {
			break
		}
		c, ok := p.candidateOf(turn)
		if !ok || c.used > 0 || !p.near(c.waiter) {
			continue
		}
		for passed := first.turn; passed != turn; passed = passed.Next() {
			lineOf(passed).passed++
		}
		return c
	}
	return first
}

// remove takes a waiter out of its workflow's line; false says that it does not wait.
func (s *scheduler) remove(w *waiter) bool {
	turn := s.lines[w.key]
	if turn == nil {
		return false
	}
	l := lineOf(turn)
	i := slices.Index(l.waiters, w)
	if i < 0 {
		return false
	}
	if l.waiters = slices.Delete(l.waiters, i, i+1); len(l.waiters) == 0 {
		s.turns.Remove(turn)
		delete(s.lines, w.key)
	}
	return true
}

package worker

import (
	"container/list"
	"time"
)

// Fairness between workflows. There are two things that they compete for.
//
// A worker's time: slots are how many may compute at once. A workflow whose calls compute long is heavy for a while: it
// waits behind those whose calls do not, and heavy ones leave the last slot to others, unless one has waited for
// longestHeavyWait. How many short calls a workflow makes says nothing against it: it may have all slots once many
// calls in a row have been short. Workflows take turns, so that one with hundreds of runs at once keeps no other
// waiting.
//
// The processes, which a call holds also while it waits for reads. A workflow whose calls wait long is
// slow for a while: slow ones together, and any one workflow, leave some of the processes to others.
//
// The order of turns is not strict. A process that does not have a script compiles it first, which takes longer than
// most calls, and a process keeps a limited number of scripts. So of the next workflows in turn, the first one goes
// that no other process would serve better: an idle process has its script, or no process has it.
const (
	heavyFrom = 250 * time.Millisecond
	// short is how long a slot may be held without being charged.
	short = 20 * time.Millisecond
	// provenShort is after how many short holds of a slot in a row a workflow may have all slots.
	provenShort = 32
	// halfLife is the time in which what was used counts half as much.
	halfLife = 10 * time.Second
	// longestHeavyWait is how long a heavy workflow waits before it is treated like any other.
	longestHeavyWait = 5 * time.Second

	slowFrom = time.Second
	// brief is how long a call may wait for reads without being charged.
	brief = time.Second
	// slowHalfLife is that of the time waited: a slow workflow is still known as one when its
	// schedule brings it back.
	slowHalfLife = 5 * time.Minute
)

// usage is what one workflow uses, and has used lately.
type usage struct {
	running    int // slots
	holding    int // processes
	used       time.Duration
	waited     time.Duration
	shortInRow int       // holds of a slot, one after the other, that were short
	at         time.Time // when used and waited were last brought up to date
}

func (a *usage) decay(now time.Time) {
	if elapsed := now.Sub(a.at); elapsed > 0 {
		a.used = decayed(a.used, elapsed, halfLife)
		a.waited = decayed(a.waited, elapsed, slowHalfLife)
	}
	a.at = now
}

// decayed is what is left of d: half of it after each half-life, and in between nearly so.
func decayed(d, elapsed, halfLife time.Duration) time.Duration {
	for ; elapsed >= halfLife && d > 0; elapsed -= halfLife {
		d /= 2
	}
	return d - time.Duration(float64(d)*0.5*float64(elapsed)/float64(halfLife))
}

func (a *usage) heavy() bool { return a.used >= heavyFrom }
func (a *usage) slow() bool  { return a.waited >= slowFrom }

// waiter is a call that waits for a slot, and for a process if it has none yet.
type waiter struct {
	key      string
	script   uint64
	process  bool
	since    time.Time
	assigned chan assignment
}

// assignment is a slot; process is nil where the waiter has one, or must start one.
type assignment struct {
	process *process
	start   bool
}

// scheduler holds the slots and their users. The caller holds the lock.
type scheduler struct {
	slots, free int
	share       int // of the slots, of one workflow
	processes   int // that slow workflows together, or one workflow, may hold
	usages      map[string]*usage
	turns       *list.List               // of *line, in the order of their turns
	lines       map[string]*list.Element // of turns, by the workflow
}

func newScheduler(slots, processes int) *scheduler {
	return &scheduler{slots: slots, free: slots, share: max(1, slots-1), processes: processes - min(slots, processes/2),
		usages: make(map[string]*usage), turns: list.New(), lines: make(map[string]*list.Element)}
}

func (s *scheduler) usage(key string, now time.Time) *usage {
	a := s.usages[key]
	if a == nil {
		a = &usage{at: now}
		s.usages[key] = a
	}
	a.decay(now)
	return a
}

// admits reports whether a workflow may have one of the free slots now.
func (s *scheduler) admits(a *usage, waited time.Duration) bool {
	if s.free == 0 || a.running >= s.share && a.shortInRow < provenShort {
		return false
	}
	return !a.heavy() || waited >= longestHeavyWait || s.slots == 1 || s.free > 1
}

// mayHold reports whether a workflow may hold one more process.
func (s *scheduler) mayHold(a *usage, heldBySlow func() int) bool {
	return a.holding < s.processes && (!a.slow() || heldBySlow() < s.processes)
}

// heldBySlow is how many processes the slow workflows hold together. It looks at every workflow, so a pick asks once.
func (s *scheduler) heldBySlow(now time.Time) (held int) {
	for _, a := range s.usages {
		if a.decay(now); a.slow() {
			held += a.holding
		}
	}
	return held
}

// assign books what a waiter is assigned: a slot, and a process if it has none.
func (s *scheduler) assign(w *waiter, now time.Time) {
	a := s.usage(w.key, now)
	s.free--
	a.running++
	if !w.process {
		a.holding++
	}
}

// returnSlot books a slot back, and what was used of it.
func (s *scheduler) returnSlot(key string, used time.Duration, now time.Time) {
	s.free++
	a := s.usage(key, now)
	a.running--
	if a.used += max(0, used-short); used <= short {
		a.shortInRow++
	} else {
		a.shortInRow = 0
	}
	s.forget(key, a)
}

// returnProcess books a process back, and how long it was held for reads.
func (s *scheduler) returnProcess(key string, waited time.Duration, now time.Time) {
	a := s.usage(key, now)
	a.holding--
	a.waited += max(0, waited-brief)
	s.forget(key, a)
}

// forget drops a workflow with nothing to remember, as nearly all are.
func (s *scheduler) forget(key string, a *usage) {
	if a.running == 0 && a.holding == 0 && a.used < heavyFrom/8 && a.waited < slowFrom/8 && s.lines[key] == nil {
		delete(s.usages, key)
	}
}

// leave takes a waiter out; false says that it has been assigned a slot already.
func (s *scheduler) leave(w *waiter) bool {
	if !s.remove(w) {
		return false
	}
	if a := s.usages[w.key]; a != nil {
		s.forget(w.key, a)
	}
	return true
}

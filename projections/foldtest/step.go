package foldtest

import (
	"github.com/pawl-run/pawl/eventlog"
)

// Step appends one random transition that may follow.
func (h *History) Step() (eventlog.Record, error) {
	return h.Append(func() {
		switch exists := h.State.Exists(); {
		case h.concurrent && !exists:
			h.deployConcurrent()
		case h.concurrent:
			h.moveConcurrent()
		case !exists:
			h.deploy()
		default:
			h.move()
		}
	})
}

// move adds what may happen next: mostly work on the current run, sometimes something beside it.
func (h *History) move() {
	if h.chance(30) {
		h.aside()
		return
	}
	s := h.State
	retry := s.RetryRun()
	switch run := s.CurrentRun(); {
	case run != nil:
		h.advance(run)
	case retry != nil && s.Mutation(retry.Mutation) != nil && s.Mutation(retry.Mutation).Status.Unresolved():
		h.settle(retry, s.Mutation(retry.Mutation))
	default:
		h.start(retry)
	}
}

package engine

import (
	"time"

	"github.com/pawl-run/pawl/engine/lease"
)

// Partition is what an engine knows of one partition of the log.
type Partition struct {
	Number int
	// Owned says that this engine owns it; Epoch is then that of its lease, 0 where the engine is alone.
	Owned bool
	Epoch uint64
	// Draining: no run begins there any more, the partition is about to be handed over.
	Draining bool
	// Owner is the engine that was last seen to hold it, and Held whether it still may; empty where the engine is alone.
	Owner lease.Entry
	Held  bool
	// Behind is for how long this engine may lack what others have written; 0 where it follows closely.
	Behind time.Duration
	// Taken counts how often this engine was given the partition, and Refused the requests that found no owner in time.
	Taken, Refused uint64
	// Stopped is why this engine neither follows nor owns it: damage; nil for nothing.
	Stopped error
}

// Behind is for how long this engine may lack what others have written, the longest of all partitions; false where it
// is alone.
func (e *Engine) Behind() (longest time.Duration, shares bool) {
	for _, p := range e.partitions {
		longest = max(longest, p.behindBy())
	}
	return longest, e.cfg.Leases != nil
}

// Partitions are those of the log, in order.
func (e *Engine) Partitions() []Partition {
	all := make([]Partition, len(e.partitions))
	for i, p := range e.partitions {
		t := p.tenure()
		all[i] = Partition{Number: p.number, Owned: t.holds(), Epoch: t.epoch(), Behind: p.behindBy(),
			Taken: p.taken.Load(), Refused: p.refused.Load(), Stopped: p.stoppedBy()}
		if t != nil {
			all[i].Draining = t.draining.Load()
		}
		if e.cfg.Leases != nil {
			all[i].Owner, all[i].Held = e.cfg.Leases.Holder(p.number)
		}
	}
	return all
}

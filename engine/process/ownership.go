package process

import (
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/lease"
)

// Tenure is a time in which this engine owns a partition: it begins when the lease was taken and all that stood in the
// log then is read, and ends with the lease.
type Tenure struct {
	// Lease is nil where the engine owns everything for good.
	Lease *lease.Lease
	// Draining: no run begins any more, the partition is about to be handed over.
	Draining atomic.Bool
}

// Holds reports whether no other engine can own the partition now. A tenure of nil is none.
func (t *Tenure) Holds() bool { return t != nil && (t.Lease == nil || t.Lease.Holds()) }

// Epoch is that of the lease, 0 where there is none.
func (t *Tenure) Epoch() uint64 {
	if t == nil || t.Lease == nil {
		return 0
	}
	return t.Lease.Epoch()
}

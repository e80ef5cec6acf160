package connector

import (
	"encoding/json"
	"sync"
)

// Bounds of each half of a ParamsCache. A half takes 256 values with parameters of 2 KiB each, and fewer with larger
// ones.
const (
	maxCached      = 256
	maxCachedBytes = 512 << 10 // of the parameters of all values
	// maxCachedParams bounds the parameters of one value, in bytes: a few calls with large ones must not drive out all
	// others.
	maxCachedParams = 32 << 10
)

// ParamsCache keeps what was found out from the parameters of recent calls, since those of one call are looked at about
// ten times between the script and the answer. A value must depend on the parameters alone, and on what never changes,
// and must not need more than a few times their memory. The zero value is ready to use; it is safe for concurrent use.
//
// Locking: mu guards all of it.
type ParamsCache[V any] struct {
	mu sync.Mutex
	// A new value goes to latest. When latest is full, it becomes before, and what was in before is forgotten.
	latest, before map[string]V
	bytes          int // of all parameters in latest
}

// Get returns the value, false if it is not kept.
func (c *ParamsCache[V]) Get(params json.RawMessage) (value V, kept bool) {
	if len(params) > maxCachedParams {
		return value, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, kept = c.latest[string(params)]; !kept {
		value, kept = c.before[string(params)]
	}
	return value, kept
}

// Put keeps the value, unless the parameters are too large. It copies the parameters.
func (c *ParamsCache[V]) Put(params json.RawMessage, value V) {
	if len(params) > maxCachedParams {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.latest) == maxCached || c.bytes+len(params) > maxCachedBytes {
		c.latest, c.before, c.bytes = c.before, c.latest, 0
		clear(c.latest)
	}
	if c.latest == nil {
		c.latest = make(map[string]V)
	}
	c.bytes += len(params)
	c.latest[string(params)] = value
}

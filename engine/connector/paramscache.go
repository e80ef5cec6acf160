package connector

import (
	"encoding/json"
	"sync"
)

const (
	// maxCached bounds each half of a ParamsCache.
	maxCached = 256
	// maxCachedParams bounds the bytes of parameters that are kept with each value.
	maxCachedParams = 2 << 10
)

// ParamsCache keeps what was found out from the parameters of recent calls, since those of one call are looked at about
// ten times between the script and the answer. A value must depend on the parameters alone, and on what never changes.
// The cache keeps at least the last 256 values and at most 512, and none of parameters above 2 KiB. The zero value is
// ready to use; it is safe for concurrent use.
//
// Locking: mu guards all of it.
type ParamsCache[V any] struct {
	mu sync.Mutex
	// A new value goes to latest. When latest is full it becomes before, and what was in before is forgotten.
	latest, before map[string]V
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
	if c.latest == nil || len(c.latest) == maxCached {
		c.latest, c.before = make(map[string]V), c.latest
	}
	c.latest[string(params)] = value
}

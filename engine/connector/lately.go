package connector

import (
	"encoding/json"
	"sync"
)

const (
	// maxLately bounds how many of the latest values a Lately keeps for certain; it keeps at most twice as many.
	maxLately = 256
	// maxLatelyParams bounds the bytes of parameters that are kept with each value.
	maxLatelyParams = 2 << 10
)

// Lately keeps what was found out of the parameters of the latest calls: between the script and the answer, each call's
// are looked at some ten times. What it keeps must follow from the parameters alone. The zero value is ready to use; it
// is safe for concurrent use.
//
// Locking: mu guards all of it.
type Lately[V any] struct {
	mu sync.Mutex
	// latest takes what is found out. Once it is full it takes the place of before, which is forgotten.
	latest, before map[string]V
}

// Get returns what was found out, false if it is not kept.
func (l *Lately[V]) Get(params json.RawMessage) (found V, kept bool) {
	if len(params) > maxLatelyParams {
		return found, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, kept = l.latest[string(params)]; !kept {
		found, kept = l.before[string(params)]
	}
	return found, kept
}

// Put keeps what was found out, for a while.
func (l *Lately[V]) Put(params json.RawMessage, found V) {
	if len(params) > maxLatelyParams {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == nil || len(l.latest) == maxLately {
		l.latest, l.before = make(map[string]V), l.latest
	}
	l.latest[string(params)] = found
}

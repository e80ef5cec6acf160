package memory

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/projections"
)

// Memory is what the engine keeps of one workflow: its state, and what of it the local store does not have yet.
//
// Locking: mu guards all of it, so that a flush takes a state together with the keys of what changed in it. The
// State may be read without it.
type Memory struct {
	current atomic.Pointer[projections.State]

	mu    sync.Mutex
	dirty map[projections.Key]struct{} // changed since the last flush
	// flushing was dirty and is on its way to the store: until it has arrived there, memory alone
	// knows it, and the store's row is older.
	flushing map[projections.Key]struct{}
	// evictable is in a committed checkpoint and may leave memory.
	evictable []projections.Key
	flushed   bool // since the last eviction
}

// Set gives it its first state, before anything else uses it.
func (m *Memory) Set(s *projections.State) { m.current.Store(s) }

// State is the newest state. It never changes once read.
func (m *Memory) State() *projections.State { return m.current.Load() }

// Hydrated takes in the same state with more of the history that the store has.
func (m *Memory) Hydrated(s *projections.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.Store(s)
}

// Applied takes in the state after one more record.
func (m *Memory) Applied(s *projections.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markDirty(s.Touched...)
	m.evictable = append(m.evictable, s.Parked...)
	m.current.Store(s)
}

// markDirty notes entities that have changed. The caller holds mu.
func (m *Memory) markDirty(keys ...projections.Key) {
	if m.dirty == nil {
		m.dirty = make(map[projections.Key]struct{}, len(keys))
	}
	for _, k := range keys {
		m.dirty[k] = struct{}{}
	}
}

// Cut begins a flush: it returns what changed since the last one, and the state that has it.
func (m *Memory) Cut() (*projections.State, []projections.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.Collect(maps.Keys(m.dirty))
	if len(keys) > 0 {
		m.flushing, m.dirty = m.dirty, nil
	}
	return m.State(), keys
}

// NotCommitted ends a flush that has failed.
func (m *Memory) NotCommitted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markDirty(slices.Collect(maps.Keys(m.flushing))...)
	m.flushing = nil
}

// Committed ends a flush: the store has these entities, and they may leave.
func (m *Memory) Committed(keys []projections.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushing = nil
	m.evictable = append(m.evictable, keys...)
	m.flushed = true
}

// MayEvict notes entities that came from the store.
func (m *Memory) MayEvict(rows []any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range rows {
		if k, ok := projections.KeyOf(row); ok {
			m.evictable = append(m.evictable, k)
		}
	}
}

// Evict removes from memory what the store has as memory has it.
func (m *Memory) Evict(window projections.Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.evictable) == 0 && !m.flushed {
		return
	}
	keys := slices.DeleteFunc(m.evictable, func(k projections.Key) bool { return !m.stored(k) })
	s := m.State().Evict(keys)
	if m.flushed { // before a flush, most of what could be paged out is not stored
		s = s.PageOut(window, m.stored)
	}
	m.current.Store(s)
	m.evictable, m.flushed = nil, false
}

// stored reports whether the store has the entity as memory has it. The caller holds mu.
func (m *Memory) stored(k projections.Key) bool {
	_, changed := m.dirty[k]
	// A change on its way to the store is not there yet: after an eviction now, the next decision would
	// read the row from before the change.
	_, underWay := m.flushing[k]
	return !changed && !underWay
}

// Unstored counts the entities that the store does not have as memory has them.
func (m *Memory) Unstored() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.dirty) + len(m.flushing)
}

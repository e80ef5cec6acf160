package vm

import (
	"container/list"
	"sync"

	"github.com/pawl-run/pawl/sandbox"
)

// cacheEntry is one script of the cache; done is closed when the others are set.
type cacheEntry struct {
	source   sandbox.Source
	done     chan struct{}
	program  *Program
	problems []sandbox.Problem
}

// Scripts keeps compiled scripts by their content, the least recently used falls out. Its keys are
// the texts themselves, so two scripts can never be taken for each other.
type Scripts struct {
	mu      sync.Mutex
	limit   int
	entries map[sandbox.Source]*list.Element
	recent  *list.List // of *cacheEntry, most recently used first
}

// NewScripts makes a cache of at most limit scripts.
func NewScripts(limit int) *Scripts {
	return &Scripts{limit: limit, entries: make(map[sandbox.Source]*list.Element), recent: list.New()}
}

// Get returns the compiled script, compiling it if need be. Several callers that need the same
// script at once wait for one compilation. A script that does not compile is remembered too.
func (c *Scripts) Get(source sandbox.Source, limit int) (*Program, []sandbox.Problem) {
	// The limit is checked before the key is hashed: it may be a caller's own.
	if len(source.Code) > limit {
		_, _, problems := Prepare(source, limit)
		return nil, problems
	}
	entry, mine := c.slot(source)
	if mine {
		defer close(entry.done)
		entry.program, _, entry.problems = Prepare(source, limit)
		return entry.program, entry.problems
	}
	<-entry.done
	return entry.program, entry.problems
}

// put stores a script that was compiled elsewhere.
func (c *Scripts) put(source sandbox.Source, p *Program, problems []sandbox.Problem) {
	if entry, mine := c.slot(source); mine {
		entry.program, entry.problems = p, problems
		close(entry.done)
	}
}

// slot finds the entry of a source or makes one; mine tells that the caller must fill it.
func (c *Scripts) slot(source sandbox.Source) (entry *cacheEntry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Most calls are of the script that was called last. Comparing its text with itself takes no time, hashing it does.
	if last := c.recent.Front(); last != nil && last.Value.(*cacheEntry).source == source {
		return last.Value.(*cacheEntry), false
	}
	if element, ok := c.entries[source]; ok {
		c.recent.MoveToFront(element)
		return element.Value.(*cacheEntry), false
	}
	entry = &cacheEntry{source: source, done: make(chan struct{})}
	c.entries[source] = c.recent.PushFront(entry)
	for c.recent.Len() > c.limit {
		oldest := c.recent.Back()
		c.recent.Remove(oldest)
		delete(c.entries, oldest.Value.(*cacheEntry).source)
	}
	return entry, true
}

func (c *Scripts) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

// Drop forgets a script.
func (c *Scripts) Drop(source sandbox.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[source]; ok {
		c.recent.Remove(element)
		delete(c.entries, source)
	}
}

package mailparse

import "sync"

// maxRemembered bounds what Heads remembers, in bytes.
const maxRemembered = 32 << 20

// Heads remembers the headers of mails by their ids, so that a listing looks into each mail only once. It holds at
// most 32 MiB. A stamp says which state of a mail was looked at.
type Heads[Stamp any] struct {
	same func(a, b Stamp) bool

	mu    sync.Mutex
	heads map[string]remembered[Stamp]
	bytes int
}

type remembered[Stamp any] struct {
	stamp Stamp
	head  Head
	size  int
}

// NewHeads remembers nothing yet. same says whether two stamps are of one state of a mail.
func NewHeads[Stamp any](same func(a, b Stamp) bool) *Heads[Stamp] {
	return &Heads[Stamp]{same: same, heads: make(map[string]remembered[Stamp])}
}

// Get returns the headers of the mail with this id, if they were read from the same state of it.
func (h *Heads[Stamp]) Get(id string, stamp Stamp) (Head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.heads[id]
	if !ok || !h.same(known.stamp, stamp) {
		return Head{}, false
	}
	return known.head, true
}

// Put remembers the headers of the mail with this id.
func (h *Heads[Stamp]) Put(id string, stamp Stamp, head Head) {
	size := sizeOf(head)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(id)
	for other := range h.heads { // in random order: listings go round, so the oldest is as good as any
		if h.bytes+size <= maxRemembered {
			break
		}
		h.remove(other)
	}
	h.heads[id] = remembered[Stamp]{stamp, head, size}
	h.bytes += size
}

func (h *Heads[Stamp]) remove(id string) {
	h.bytes -= h.heads[id].size
	delete(h.heads, id)
}

// sizeOf is about what a remembered head takes.
func sizeOf(head Head) int {
	size := 1 << 10 // the structures themselves
	for _, text := range []string{head.ID, head.MessageID, head.From, head.FromAddress, head.Subject, head.Error} {
		size += len(text)
	}
	for _, list := range [][]string{head.To, head.Cc} {
		for _, text := range list {
			size += len(text) + 16
		}
	}
	return size
}

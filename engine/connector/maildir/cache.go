package maildir

import (
	"os"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector/maildir/mailparse"
)

const (
	// maxCached bounds what is remembered of mails, in bytes.
	maxCached = 32 << 20
	// cacheMinAge is how old a file must be before it is remembered: one that is being written can change
	// without looking different.
	cacheMinAge = 2 * time.Second
)

// headCache remembers the headers of mails, so that a listing looks into each mail only once. A mail whose
// file has another size, time or place in the file system is another mail.
type headCache struct {
	mu    sync.Mutex
	heads map[string]cachedHead
	bytes int
}

type cachedHead struct {
	info os.FileInfo
	head mailparse.Head
	size int
}

func newHeadCache() *headCache { return &headCache{heads: make(map[string]cachedHead)} }

func (c *headCache) get(id string, info os.FileInfo) (mailparse.Head, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.heads[id]
	if !ok || !os.SameFile(known.info, info) || known.info.Size() != info.Size() ||
		!known.info.ModTime().Equal(info.ModTime()) {
		return mailparse.Head{}, false
	}
	return known.head, true
}

func (c *headCache) put(id string, info os.FileInfo, head mailparse.Head) {
	if time.Since(info.ModTime()) < cacheMinAge {
		return
	}
	size := sizeOf(head)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
	for other := range c.heads { // in random order: listings go round, so the oldest is as good as any
		if c.bytes+size <= maxCached {
			break
		}
		c.remove(other)
	}
	c.heads[id] = cachedHead{info, head, size}
	c.bytes += size
}

func (c *headCache) remove(id string) {
	c.bytes -= c.heads[id].size
	delete(c.heads, id)
}

// sizeOf is about what a cached head takes.
func sizeOf(head mailparse.Head) int {
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

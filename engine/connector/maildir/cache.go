package maildir

import (
	"os"
	"time"

	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

// cacheMinAge is how old a file must be before it is remembered: one that is being written can change
// without looking different.
const cacheMinAge = 2 * time.Second

// headCache remembers the headers of mails. A mail whose file has another size, time or place in the file system is
// another mail.
type headCache struct{ *mailparse.Heads[os.FileInfo] }

func newHeadCache() headCache {
	return headCache{mailparse.NewHeads(func(a, b os.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})}
}

func (c headCache) put(id string, info os.FileInfo, head mailparse.Head) {
	if time.Since(info.ModTime()) >= cacheMinAge {
		c.Put(id, info, head)
	}
}

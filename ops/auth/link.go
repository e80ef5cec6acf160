package auth

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// LinkLife is how long a login link can be used, once.
const LinkLife = time.Minute

// maxLinks bounds the links that are not used yet; one too many takes the place of the oldest.
const maxLinks = 100

// Links are the one-time links with which browsers log in. They are kept in memory alone: a link leads to the process
// that made it. The zero value is ready, and safe for concurrent use.
type Links struct {
	mu   sync.Mutex
	open []link
}

type link struct {
	code  string
	maker rpc.Caller
	until time.Time
}

// Make returns the code of a new link with which a browser comes to act as the caller.
func (l *Links) Make(as rpc.Caller, now time.Time) (code string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= maxLinks {
		l.open = l.open[1:]
	}
	made := link{rand.Text(), as, now.Add(LinkLife)}
	l.open = append(l.open, made)
	return made.code, made.until
}

// Take uses a link up: it returns as whom the browser acts, and false for a code that is not known, not any more or too
// old.
func (l *Links) Take(code string, now time.Time) (rpc.Caller, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := hashOf(code)
	for i, known := range l.open {
		if hashOf(known.code) == hash { // of hashes: how long it takes says nothing of the code
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return known.maker, now.Before(known.until)
		}
	}
	return rpc.Caller{}, false
}

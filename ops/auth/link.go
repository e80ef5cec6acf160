package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// LinkLife is how long a login link can be used, once.
const LinkLife = time.Minute

// maxLinks bounds the unused links of one credential; one more takes the place of its oldest.
const maxLinks = 20

// Links are the one-time links with which browsers log in. They are valid at every engine that has the same bucket, and
// of all uses of a link, at any engine, one succeeds. Only hashes of codes are kept. The clock of the engine at which a
// link is used decides whether it is too old. Links are safe for concurrent use.
type Links struct{ bucket LinkBucket }

// LinkBucket keeps links.
type LinkBucket interface {
	// Get returns a value and its revision. Revision 0 without an error means that there is none.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put replaces the value with this revision, 0 for none, and returns the new revision. Revision 0 without an error
	// means that another value has been written meanwhile.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// NewLinks keeps links in the bucket; nil means the memory of this process, for an engine that has its log for itself.
func NewLinks(bucket LinkBucket) *Links {
	if bucket == nil {
		bucket = &linkMemory{values: map[string]linkValue{}}
	}
	return &Links{bucket}
}

// link is a link that was not used yet.
type link struct {
	Hash  string     `json:"hash"`
	Maker rpc.Caller `json:"maker"`
	Until time.Time  `json:"until"`
}

// makerLength is the length of the part of a code behind the secret. That part says under which key the link is kept.
const makerLength = 16

var errUnknownLink = errors.New("the link is not known")

// Make returns the code of a new link, by which a browser can act as the caller.
func (l *Links) Make(ctx context.Context, as rpc.Caller, now time.Time) (code string, until time.Time, err error) {
	of := sha256.Sum256([]byte("links of " + as.Key))
	maker := base32.StdEncoding.EncodeToString(of[:])[:makerLength]
	code, until = rand.Text()+maker, now.Add(LinkLife)
	err = l.change(ctx, maker, func(open []link) ([]link, error) {
		open = slices.DeleteFunc(open, func(known link) bool { return !now.Before(known.Until) })
		if len(open) >= maxLinks {
			open = open[1:]
		}
		return append(open, link{hashOf(code), as, until}), nil
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("keep a login link: %w", err)
	}
	return code, until, nil
}

// Take uses a link up and returns the caller as which the browser acts. ok is false for a code that is unknown, used or
// too old. After an error the link may be used up.
func (l *Links) Take(ctx context.Context, code string, now time.Time) (as rpc.Caller, ok bool, err error) {
	if len(code) <= makerLength {
		return rpc.Caller{}, false, nil
	}
	maker := code[len(code)-makerLength:]
	if _, err := base32.StdEncoding.DecodeString(maker); err != nil {
		return rpc.Caller{}, false, nil
	}
	hash := hashOf(code) // the time that a comparison of hashes takes says nothing about the code
	var taken link
	err = l.change(ctx, maker, func(open []link) ([]link, error) {
		i := slices.IndexFunc(open, func(known link) bool { return known.Hash == hash })
		if i < 0 {
			return nil, errUnknownLink
		}
		taken = open[i]
		return slices.Delete(open, i, i+1), nil
	})
	switch {
	case errors.Is(err, errUnknownLink):
		return rpc.Caller{}, false, nil
	case err != nil:
		return rpc.Caller{}, false, fmt.Errorf("use up a login link: %w", err)
	}
	return taken.Maker, now.Before(taken.Until), nil
}

// change changes the open links of a maker. It repeats the change if another engine has changed them meanwhile.
func (l *Links) change(ctx context.Context, maker string, to func([]link) ([]link, error)) error {
	key := "link." + maker
	for {
		text, revision, err := l.bucket.Get(ctx, key)
		if err != nil {
			return err
		}
		var open []link
		if revision != 0 {
			if err := json.Unmarshal(text, &open); err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
		}
		if open, err = to(open); err != nil {
			return err
		}
		if text, err = json.Marshal(open); err != nil {
			return err
		}
		if written, err := l.bucket.Put(ctx, key, text, revision); err != nil || written != 0 {
			return err
		}
	}
}

// linkMemory is a bucket of one process.
type linkMemory struct {
	mu     sync.Mutex
	last   uint64
	values map[string]linkValue
}

type linkValue struct {
	text     []byte
	revision uint64
}

// Get implements LinkBucket.
func (m *linkMemory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.values[key]
	return v.text, v.revision, nil
}

// Put implements LinkBucket.
func (m *linkMemory) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key].revision != revision {
		return 0, nil
	}
	m.last++
	m.values[key] = linkValue{value, m.last}
	return m.last, nil
}

package auth

import (
	"crypto/rand"
	"encoding/base32"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
)

// TokenPrefix begins every named token.
const TokenPrefix = "pawl_"

// NewToken makes a token of 256 random bits.
func NewToken() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the program instead
	return TokenPrefix + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret[:])
}

// tokenKey names the caller with a named token.
func tokenKey(name eventlog.TokenName) string { return "token " + string(name) }

// Revocations wakes all waiting readers whenever a token was revoked. The zero value is ready for use.
type Revocations struct {
	mu      sync.Mutex
	changed chan struct{}
}

// Next returns a channel that is closed at the next revocation.
func (r *Revocations) Next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// Notify wakes all readers that wait.
func (r *Revocations) Notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

package engine

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// idSource makes ULIDs that sort by creation. Transition ids are as random as the entropy: two
// engines never make the same one, which lost-ack settlement rests on.
type idSource struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

func newIDSource(random io.Reader) *idSource {
	if random == nil {
		random = rand.Reader
	}
	return &idSource{entropy: ulid.Monotonic(random, 0)}
}

func (s *idSource) next(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := ulid.New(ulid.Timestamp(now), s.entropy)
	if err != nil {
		// Monotonic overflow within one millisecond, or no entropy: start over with fresh bytes.
		s.entropy = ulid.Monotonic(rand.Reader, 0)
		id = ulid.MustNew(ulid.Timestamp(now), s.entropy)
	}
	return id.String()
}

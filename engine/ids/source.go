package ids

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Source makes ULIDs that sort by creation. Transition ids are as random as the entropy: two
// engines never make the same one, which lost-ack settlement rests on.
type Source struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

// New makes ids of random, of the machine's when that is nil.
func New(random io.Reader) *Source {
	if random == nil {
		random = rand.Reader
	}
	return &Source{entropy: ulid.Monotonic(random, 0)}
}

// Next returns a new id for the time.
func (s *Source) Next(now time.Time) string {
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

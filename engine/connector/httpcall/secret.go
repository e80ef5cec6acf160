package httpcall

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/connector/redact"
)

// secretsIn lists the parts of a header's value that count as secrets although they stand in the configuration itself.
// The header's name decides, since a secret may have been written there directly.
func secretsIn(header, value string) []string {
	lower := strings.ToLower(header)
	for _, word := range []string{"auth", "cookie", "key", "token", "secret", "password", "credential"} {
		if !strings.Contains(lower, word) {
			continue
		}
		return redact.Parts(value)
	}
	return nil
}

// blanks blanks secrets out of what comes back: those of the configuration, and the tokens that hosts were given since.
type blanks struct {
	configured []string
	now        atomic.Pointer[redact.Redactor]

	mu    sync.Mutex
	given map[*oauth][]string
}

func newBlanks(configured []string) *blanks {
	b := &blanks{configured: configured, given: make(map[*oauth][]string)}
	b.now.Store(redact.New(configured))
	return b
}

// learn takes the tokens in the place of those that the same caller gave before.
func (b *blanks) learn(by *oauth, tokens []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given[by] = slices.Clone(tokens)
	all := slices.Clone(b.configured)
	for _, tokens := range b.given {
		all = append(all, tokens...)
	}
	b.now.Store(redact.New(all))
}

package enginetest

import (
	"bytes"
	"log/slog"
	"sync"
)

// Said is what an engine has logged. The zero value is empty and ready.
type Said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger writes lines of text into it.
func (s *Said) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// Write implements io.Writer.
func (s *Said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

// String is all that was logged so far.
func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

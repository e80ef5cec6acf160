package enginetest

import (
	"bytes"
	"log/slog"
	"sync"
)

// LogCapture is what an engine has logged. The zero value is empty and ready.
type LogCapture struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger writes lines of text into it.
func (s *LogCapture) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// Write implements io.Writer.
func (s *LogCapture) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

// String is all that was logged so far.
func (s *LogCapture) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

package embeddednats

import (
	"fmt"
	"log/slog"
	"sync"
)

// logger forwards the server's words to slog and keeps the last fatal one: the server reports
// why it could not start by no other way.
type logger struct {
	to *slog.Logger

	mu    sync.Mutex
	fatal string
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warn("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(string, ...any)           {}
func (l *logger) Tracef(string, ...any)           {}

func (l *logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	l.fatal = text
	l.mu.Unlock()
	l.to.Error("nats: " + text)
}

func (l *logger) lastFatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

package embeddednats

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// logger forwards the server's messages to slog and keeps the last fatal one: the server reports in no other way why
// it could not start.
type logger struct {
	to *slog.Logger

	mu    sync.Mutex
	fatal string
}

// afterKill are warnings of nats-server 2.15.2 about the index of a stream, a copy of what its blocks hold: it is
// written when the server stops and every two minutes, so each start after a kill finds it older than the
// blocks, drops it and reads the blocks instead. Nothing is lost by that; whether the log is whole is
// checked against its mark. The server reports a missing or damaged block with other texts, which stay warnings.
var afterKill = []string{
	"Stream state outdated, last block has additional entries, will rebuild",
	"Stream state outdated, found extra blocks, will rebuild",
	"Recovering stream state from index errored: prior state file", // what follows either of them
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Error("nats: " + fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(string, ...any)           {}
func (l *logger) Tracef(string, ...any)           {}

func (l *logger) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	level := slog.LevelWarn
	if strings.HasPrefix(text, "Filestore [") && slices.ContainsFunc(afterKill, func(known string) bool {
		return strings.HasSuffix(text, "] "+known)
	}) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, "nats: "+text)
}

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

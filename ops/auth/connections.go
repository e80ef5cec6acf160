package auth

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultConnections is how many connections may be open by default: each holds a descriptor and some memory.
const DefaultConnections = 1024

// Connections bounds the connections of a listener. When there are too many, one is closed for the newest:
// the oldest that has shown no token, else the one that has been idle for longest. So a program without
// the token keeps out no program that has it, however many connections it opens. One caller does not keep out
// the others either: its connections beyond a share of all are treated as if they had no token.
type Connections struct {
	most   int
	logger *slog.Logger

	mu   sync.Mutex
	open map[net.Conn]*connection
	// trusted counts the connections that each caller's token holds.
	trusted map[string]int
	opened  uint64
	warned  time.Time
}

// share is how many connections one caller's token holds at most.
func (c *Connections) share() int { return max(c.most/4, 1) }

// connection is what is known of one connection.
type connection struct {
	among *Connections
	// trusted names the caller with a token of a request on it; nil while there was none, or while the caller has
	// its share. It is set under mu.
	trusted atomic.Pointer[string]
	// gone is set, under mu, once it is no longer counted.
	gone   bool
	number uint64
	// idle says when its last request ended, counted like number; 0 while a request is under way.
	idle uint64
}

// NewConnections allows at most so many connections.
func NewConnections(most int, logger *slog.Logger) *Connections {
	return &Connections{most: most, logger: logger, open: map[net.Conn]*connection{}, trusted: map[string]int{}}
}

// connectionKey marks the context of a connection's requests.
type connectionKey struct{}

// Enter counts a new connection; another one may be closed for it. It is the ConnContext of a server.
func (c *Connections) Enter(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	var leaving net.Conn
	if len(c.open) >= c.most {
		leaving = c.least()
		if leaving == nil {
			leaving = conn // all others carry requests of callers with a token
		}
		c.forget(leaving)
		if now := time.Now(); now.Sub(c.warned) > time.Minute {
			c.warned = now
			c.logger.Warn("connections over HTTP are closed to make room for new ones", "open", c.most)
		}
	}
	c.opened++
	known := &connection{among: c, number: c.opened}
	if known.gone = leaving == conn; !known.gone {
		c.open[conn] = known
	}
	c.mu.Unlock()
	if leaving != nil {
		_ = leaving.Close() // a request on it fails; the error of the closing does not matter
	}
	return context.WithValue(ctx, connectionKey{}, known)
}

// least is the connection that may be closed first; nil if all carry requests of callers with a token.
func (c *Connections) least() net.Conn {
	var stranger, idle net.Conn
	for conn, known := range c.open {
		switch {
		case known.trusted.Load() == nil:
			if stranger == nil || known.number < c.open[stranger].number {
				stranger = conn
			}
		case known.idle > 0:
			if idle == nil || known.idle < c.open[idle].idle {
				idle = conn
			}
		}
	}
	if stranger != nil {
		return stranger
	}
	return idle
}

// Changed notes the state of a connection. It is the ConnState of a server.
func (c *Connections) Changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[conn]
	if known == nil {
		return
	}
	switch state {
	case http.StateActive:
		known.idle = 0
	case http.StateIdle:
		c.opened++
		known.idle = c.opened
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	case http.StateNew:
	}
}

// forget stops counting a connection. The caller holds mu.
func (c *Connections) forget(conn net.Conn) {
	known := c.open[conn]
	if known == nil {
		return
	}
	delete(c.open, conn)
	known.gone = true
	if caller := known.trusted.Load(); caller != nil {
		if c.trusted[*caller]--; c.trusted[*caller] == 0 {
			delete(c.trusted, *caller)
		}
	}
}

// Trust notes that the request's connection belongs to a caller with a token, unless the caller has its share already.
func Trust(ctx context.Context, caller string) {
	known, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok || known.trusted.Load() != nil {
		return
	}
	c := known.among
	c.mu.Lock()
	defer c.mu.Unlock()
	if !known.gone && c.trusted[caller] < c.share() && known.trusted.Load() == nil {
		c.trusted[caller]++
		known.trusted.Store(&caller)
	}
}

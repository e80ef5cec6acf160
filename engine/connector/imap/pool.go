package imap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// keepIdle is how long a connection waits for another call: longer than the usual interval between two polls, and
	// shorter than the half hour after which servers end a silent connection.
	keepIdle = 2 * time.Minute
	// slotAgain is how long after a call that got no connection it is tried again.
	slotAgain = time.Second
)

// pool is the connections to the server.
type pool struct {
	server *server
	slots  chan struct{} // a token for each call under way

	mu     sync.Mutex
	idle   []*session // the most recently used last
	closed bool
	reaper *time.Timer
}

func newPool(s *server, size int) *pool {
	p := &pool{server: s, slots: make(chan struct{}, size)}
	p.reaper = time.AfterFunc(time.Hour, p.reap)
	p.reaper.Stop()
	return p
}

// enter takes a place, or says that there was none in the call's time. release gives it back.
func (p *pool) enter(ctx context.Context, call connector.Call) (release func(), failure *eventlog.Failure) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, connector.HeldBack(ctx, call, slotAgain, fmt.Sprintf(
			"all %d connections to the mail server %s were in use", cap(p.slots), p.server.address))
	}
}

// use asks on a connection, which is kept if the server answered, with a refusal too. If a kept connection turns out to
// be lost, use asks once more on a new one: no question changes anything.
func (p *pool) use(ctx context.Context, ask func(*session) error) error {
	if s := p.take(); s != nil {
		err := p.ask(s, ask)
		if err == nil || ctx.Err() != nil || !lost(err) {
			return err
		}
	}
	s, err := p.server.open(ctx)
	if err != nil {
		return err
	}
	return p.ask(s, ask)
}

func (p *pool) ask(s *session, ask func(*session) error) error {
	err := ask(s)
	if lost(err) || s.line.sealed.Load() {
		s.end()
	} else {
		p.put(s)
	}
	return err
}

// lost says whether an error is one of the connection: neither an answer of the server nor a failure of our own.
func lost(err error) bool {
	var refused *imap.Error
	var own *eventlog.Failure
	return err != nil && !errors.As(err, &refused) && !errors.As(err, &own) && !errors.Is(err, errLonger) &&
		!errors.Is(err, errTooMuch) && !errors.Is(err, errTooLists)
}

// take returns a connection that waits, nil if there is none.
func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for last := len(p.idle) - 1; last >= 0; last-- {
		s := p.idle[last]
		p.idle = p.idle[:last]
		select {
		case <-s.client.Closed():
		default:
			return s
		}
	}
	return nil
}

// put keeps a connection for another call.
func (p *pool) put(s *session) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		s.line.allow(answerRoom, 0)
		s.idle = time.Now()
		p.idle = append(p.idle, s)
		p.reaper.Reset(keepIdle)
	}
	p.mu.Unlock()
	if closed {
		s.end()
	}
}

// reap closes connections that have been idle for keepIdle.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && time.Since(p.idle[0].idle) >= keepIdle {
		p.idle[0].line.seal()
		p.idle = p.idle[1:]
	}
	if len(p.idle) > 0 {
		p.reaper.Reset(keepIdle - time.Since(p.idle[0].idle))
	}
}

// close closes the connections that wait; one in use is closed with its call.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.reaper.Stop()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, s := range idle {
		s.end()
	}
}

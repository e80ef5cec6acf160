package natsservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// flushTimeout bounds one write to the server. A write that hangs would hold back requests past
// their deadlines; the connection is given up instead.
const flushTimeout = 5 * time.Second

// ConnectFunc opens a connection with the given options. (*embeddednats.Server).Connect is one.
type ConnectFunc func(options ...nats.Option) (*nats.Conn, error)

// ConnectURL connects to a server by its URL, with credentials in it or in options.
func ConnectURL(url string, options ...nats.Option) ConnectFunc {
	return func(ours ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(url, append(append([]nats.Option{}, options...), ours...)...)
	}
}

// wire is the connection that calls use, and nothing else does: it keeps nothing back while it is
// down, so that no request is sent later than its caller believes.
type wire struct {
	nc    *nats.Conn
	inbox string // ends in a dot; the token of a call follows
	sub   *nats.Subscription

	mu     sync.Mutex
	last   uint64
	open   map[string]chan *nats.Msg
	broken chan struct{} // closed when the connection breaks, then replaced

	listeners connector.Listeners // of calls whose deadline has passed
}

// connectWire opens the connection. connected is called whenever it stands (again).
func connectWire(connect ConnectFunc, logger *slog.Logger, connected func(), maxListening int) (*wire, error) {
	w := &wire{open: make(map[string]chan *nats.Msg), broken: make(chan struct{}),
		listeners: connector.Listeners{Max: maxListening}}
	nc, err := connect(
		nats.Name("pawl connectors"),
		// The client would keep requests made while disconnected and send them after the
		// reconnect, long after the call was answered.
		nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.FlusherTimeout(flushTimeout),
		nats.ReconnectOnFlusherError(),
		nats.ConnectHandler(func(*nats.Conn) { connected() }),
		nats.ReconnectHandler(func(*nats.Conn) { connected() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			w.breaks()
			if err != nil {
				logger.Warn("the connection to connectors is lost; calls fail until it is back", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.Warn("NATS reports a problem on the connection to connectors", "error", err)
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS for connectors: %w", err)
	}
	if nc.Opts.ReconnectBufSize >= 0 {
		nc.Close()
		return nil, errors.New("connect to NATS for connectors: the connection would keep requests while it is down " +
			"and send them later; Connect must apply the options it is given")
	}
	w.nc, w.inbox = nc, nc.NewInbox()+"."
	w.sub, err = nc.Subscribe(w.inbox+"*", w.deliver)
	if err == nil {
		// A reply dropped here would be a mutation made uncertain for nothing.
		err = w.sub.SetPendingLimits(-1, -1)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("listen for the replies of connectors: %w", err)
	}
	return w, nil
}

// deliver hands a reply to its call. A reply that belongs to no call any more is dropped.
func (w *wire) deliver(m *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reply, ok := w.open[strings.TrimPrefix(m.Subject, w.inbox)]; ok {
		select {
		case reply <- m:
		default: // the first reply counts
		}
	}
}

func (w *wire) breaks() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.broken)
	w.broken = make(chan struct{})
}

// exchange is one request and the wait for its reply.
type exchange struct {
	wire  *wire
	token string
	// reply gets the first reply.
	reply <-chan *nats.Msg
	// broken is closed when the connection breaks after the request was sent.
	broken <-chan struct{}
}

// errNotSent says that a request provably never left (F4).
var errNotSent = errors.New("the request was not sent")

// send writes one request, once, if the gate, unless it is nil, lets it out at the last moment. An error
// that is errNotSent, or what the gate has said, means that nothing left; any other that something may
// have.
func (w *wire) send(subject string, header nats.Header, data []byte, gate func() *eventlog.Failure) (*exchange, error) {
	if status := w.nc.Status(); status != nats.CONNECTED {
		return nil, fmt.Errorf("%w: not connected to NATS (%s)", errNotSent, strings.ToLower(status.String()))
	}
	reply := make(chan *nats.Msg, 1)
	w.mu.Lock()
	w.last++
	token := strconv.FormatUint(w.last, 36)
	w.open[token] = reply
	ex := &exchange{wire: w, token: token, reply: reply, broken: w.broken}
	w.mu.Unlock()
	if gate != nil {
		if refused := gate(); refused != nil {
			ex.close()
			return nil, refused
		}
	}
	err := w.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: w.inbox + token, Header: header, Data: data})
	if err == nil {
		return ex, nil
	}
	ex.close()
	for _, before := range neverWritten {
		if errors.Is(err, before) {
			return nil, fmt.Errorf("%w: %w", errNotSent, err)
		}
	}
	return nil, fmt.Errorf("write request: %w", err)
}

// neverWritten are the errors with which the client refuses a message before it writes a byte of
// it. Any other error may have been met halfway.
var neverWritten = []error{
	nats.ErrReconnectBufExceeded, nats.ErrConnectionClosed, nats.ErrConnectionDraining,
	nats.ErrMaxPayload, nats.ErrBadSubject, nats.ErrHeadersNotSupported, nats.ErrInvalidConnection,
}

// close ends the wait; a reply that comes later is dropped.
func (e *exchange) close() {
	e.wire.mu.Lock()
	defer e.wire.mu.Unlock()
	delete(e.wire.open, e.token)
}

// listenOn waits for a reply after the deadline, for at most d, until stop is closed or too many others
// do (F12). It returns nil when none came.
func (e *exchange) listenOn(stop <-chan struct{}, d time.Duration) *nats.Msg {
	givenUp, leave := e.wire.listeners.Join()
	defer leave()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case m := <-e.reply:
		return m
	case <-timer.C:
	case <-givenUp:
	case <-stop:
	}
	return nil
}

// request asks and waits for the reply until ctx has ended or the connection breaks: for questions
// that change nothing.
func (w *wire) request(ctx context.Context, subject string, header nats.Header, data []byte) (*nats.Msg, error) {
	ex, err := w.send(subject, header, data, nil)
	if err != nil {
		return nil, err
	}
	defer ex.close()
	select {
	case m := <-ex.reply:
		return m, nil
	case <-ex.broken:
		return nil, errors.New("the connection to NATS broke before the answer came")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) close() { w.nc.Close() }

// unheard reports whether the server itself answered that nothing listens on the subject.
func unheard(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header.Get("Status") == "503"
}

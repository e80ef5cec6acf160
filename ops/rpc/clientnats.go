package rpc

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// dialTime bounds the connecting to the NATS server.
	dialTime = 10 * time.Second
	// answerTime is how long an engine may take over an operation that is not slow: its own limit, and
	// time for the network.
	answerTime = 30 * time.Second
	// probeTime is how often the caller of a slow operation checks that there is still an engine.
	probeTime = 10 * time.Second
)

// NATSLine is the way to an engine by its NATS service. It connects when it is first used, and again
// after the connection was lost. Its methods are safe for concurrent use.
type NATSLine struct {
	// AnswerTime is how long an engine may take over an operation that is not slow, and ProbeTime how often
	// the caller of a slow operation checks that there is still an engine. They are set before the first use.
	AnswerTime, ProbeTime time.Duration

	url, address string
	options      []nats.Option
	mu           sync.Mutex
	open         *natsConn
}

// natsConn is a connection; its life ends, with the cause, when it cannot be used any more.
type natsConn struct {
	*nats.Conn
	life context.Context
}

// NewNATSLine makes the line to the engine behind the NATS server at the URL, which has the user and the
// password in it. Options are for the connection.
func NewNATSLine(address string, options ...nats.Option) (*NATSLine, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL") // the parser's error may hold the password
	}
	u.User = nil
	return &NATSLine{url: address, address: u.String(), options: options, AnswerTime: answerTime, ProbeTime: probeTime},
		nil
}

// Address is the URL without its user.
func (l *NATSLine) Address() string { return l.address }

// Close ends the connection, if there is one.
func (l *NATSLine) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		l.open.Close()
		l.open = nil
	}
}

func (l *NATSLine) connect() (*natsConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil && l.open.life.Err() == nil {
		return l.open, nil
	}
	life, end := context.WithCancelCause(context.Background())
	nc, err := nats.Connect(l.url, append(slices.Clone(l.options), nats.Name("pawl"), nats.Timeout(dialTime),
		nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				end(err) // the request will never be answered
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			err := nc.LastError()
			if err == nil {
				err = nats.ErrConnectionClosed
			}
			end(err)
		}))...)
	if err != nil {
		end(err)
		return nil, l.explain(err)
	}
	if l.open != nil {
		l.open.Close()
	}
	l.open = &natsConn{nc, life}
	return l.open, nil
}

// explain says what an error of the connection means to a caller.
func (l *NATSLine) explain(err error) error {
	const user = "use the URL of the engine's operators: it is in the file nats/operator.url of its data directory, " +
		"and --nats @FILE reads it"
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return Problemf(http.StatusUnauthorized, "user.refused",
			"the NATS server at %s does not know this user or its password", l.address).WithHint(user)
	case errors.Is(err, nats.ErrPermissionViolation):
		return Problemf(http.StatusForbidden, "user.forbidden",
			"this user of the NATS server at %s may not operate an engine", l.address).WithHint(user)
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w at %s: the NATS server answers, and no engine is connected to it", ErrUnreachable, l.address)
	case errors.As(err, &certificate):
		return fmt.Errorf("connect to %s: %w: %w", l.address, ErrUntrusted, certificate.Err)
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, l.address, err)
}

// ask sends a request and waits for its answer: at most for AnswerTime or, for a slow operation, as long as there is an
// engine.
func (l *NATSLine) ask(ctx context.Context, msg *nats.Msg, slow bool) (*nats.Msg, error) {
	nc, err := l.connect()
	if err != nil {
		return nil, err
	}
	waiting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(nc.life, func() { giveUp(context.Cause(nc.life)) })()
	if slow {
		probed := make(chan struct{})
		go func() {
			defer close(probed)
			l.watch(waiting, nc, giveUp)
		}()
		defer func() { giveUp(nil); <-probed }()
	} else {
		timer := time.AfterFunc(l.AnswerTime, func() { giveUp(l.silence()) })
		defer timer.Stop()
	}
	answer, err := nc.RequestMsgWithContext(waiting, msg)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, Problemf(http.StatusRequestEntityTooLarge, "body.tooLarge",
			"the request has %d bytes, more than the NATS server at %s carries in one message; nothing was changed",
			len(msg.Data), l.address).
			WithHint("send it over HTTP (pawl --url)")
	case waiting.Err() != nil:
		err = context.Cause(waiting)
	}
	return nil, l.explain(err)
}

func (l *NATSLine) silence() error {
	return fmt.Errorf("no answer within %s; what was asked for may be done all the same", l.AnswerTime)
}

// watch gives up when no engine answers any more.
func (l *NATSLine) watch(ctx context.Context, nc *natsConn, giveUp func(error)) {
	tick := time.NewTicker(l.ProbeTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		probe, cancel := context.WithTimeoutCause(ctx, l.AnswerTime, l.silence())
		_, err := nc.RequestWithContext(probe, "$SRV.PING.pawl", nil)
		if probe.Err() != nil {
			err = context.Cause(probe)
		}
		cancel()
		if err != nil {
			giveUp(err) // it has no effect where the wait has ended
			return
		}
	}
}

// overNATS is a client's transport over NATS.
type overNATS struct {
	line  *NATSLine
	actor string
	token string
}

func (c overNATS) call(ctx context.Context, o *Operation, fields map[string]json.RawMessage) (int, []byte, error) {
	// This is refused here too, since an engine of an earlier version would answer.
	if p := o.NotOverNATS(); p != nil {
		return 0, nil, p
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return 0, nil, fmt.Errorf("call %s: encode the parameters: %w", o.ID, err)
	}
	msg := nats.NewMsg("pawl.api." + o.ID)
	msg.Data = body
	if c.actor != "" {
		msg.Header.Set(ActorHeader, c.actor)
	}
	if c.token != "" {
		msg.Header.Set(TokenHeader, c.token)
	}
	answer, err := c.line.ask(ctx, msg, o.Slow)
	if err != nil {
		return 0, nil, err
	}
	if code := answer.Header.Get(micro.ErrorCodeHeader); code != "" {
		p := &Problem{}
		if json.Unmarshal(answer.Data, p) == nil && p.Code != "" {
			return 0, nil, p
		}
	}
	status, err := strconv.Atoi(answer.Header.Get(StatusHeader))
	if err != nil {
		return 0, nil, Problemf(http.StatusBadGateway, "answer.foreign", "what answers %s at %s is no engine", msg.Subject,
			c.line.address).
			WithHint("is this the address of a NATS server that a pawl engine uses?")
	}
	return status, answer.Data, nil
}

// log reads page by page. The engine keeps a follower waiting.
func (c overNATS) log(ctx context.Context, o *Operation, fields map[string]json.RawMessage, _ bool,
	yield func(json.RawMessage, error) bool) {
	for {
		_, answer, err := c.call(ctx, o, fields)
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  json.RawMessage   `json:"next"`
		}
		if err == nil {
			err = json.Unmarshal(answer, &page)
		}
		if p := (*Problem)(nil); errors.As(err, &p) && p.Code == CodeStopping {
			err = fmt.Errorf("%w at %s: %w", ErrUnreachable, c.line.address, p)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, item := range page.Items {
			if !yield(item, nil) {
				return
			}
		}
		if next := string(page.Next); next == "" || next == "null" {
			return
		}
		fields["from"] = page.Next
		delete(fields, "tail") // it is only for the first page; the others come after that
	}
}

package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// session is one connection to the server, with one mail on it at most.
type session struct {
	server *server
	line   *line
	client *smtp.Client
	// ending is set immediately before the line that ends the mail is written.
	ending atomic.Bool
	// leaving: quit was called, and closes the connection itself.
	leaving bool
}

// dial connects, and says nothing yet. A failure is definite.
func (s *server) dial(ctx context.Context, call connector.Call, until time.Time) (*session, *eventlog.Failure) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, s.notHanded(ctx, call, err)
	}
	if address, ok := raw.RemoteAddr().(*net.TCPAddr); s.loopbackOnly && (!ok || !address.IP.IsLoopback()) {
		raw.Close()
		return nil, connector.Failf(eventlog.Permission, "smtp.tls", "no connection to the mail server %s: the name leads "+
			"to %s, which is not this machine, and the connection would not be encrypted: set connectors.smtp.tls to "+
			"starttls or implicit", s.address, address)
	}
	session := &session{server: s, line: &line{Conn: raw}}
	if err := session.line.keep(until, until); err != nil {
		raw.Close()
		return nil, s.notHanded(ctx, call, err)
	}
	return session, nil
}

// greet encrypts the connection, and logs in.
func (s *session) greet(ctx context.Context) error {
	switch s.server.mode {
	case tlsImplicit:
		encrypted := tls.Client(s.line, s.server.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("TLS handshake: %w", err)
		}
		s.client = smtp.NewClient(encrypted)
	case tlsSTARTTLS:
		var err error
		if s.client, err = smtp.NewClientStartTLS(s.line, s.server.tls); err != nil {
			return err
		}
	default:
		s.client = smtp.NewClient(s.line)
	}
	hello := s.server.hello
	if hello == "" {
		hello = "localhost"
	}
	if err := s.client.Hello(hello); err != nil {
		return err
	}
	if s.server.username == "" {
		return nil
	}
	switch {
	case s.client.SupportsAuth(sasl.Plain):
		return s.client.Auth(sasl.NewPlainClient("", s.server.username, s.server.password))
	case s.client.SupportsAuth(sasl.Login):
		return s.client.Auth(sasl.NewLoginClient(s.server.username, s.server.password))
	}
	_, offered := s.client.Extension("AUTH")
	return &noLogin{offered}
}

// noLogin is a server with no way to log in that is known here.
type noLogin struct{ offered string }

func (e *noLogin) Error() string {
	return fmt.Sprintf("it offers no login by PLAIN or LOGIN (it offers %q)", e.offered)
}

// begin names the sender and the recipients, and writes the mail without the line that ends it.
func (s *session) begin(m finished) (*smtp.DataCommand, error) {
	if err := s.client.Mail(m.from, &smtp.MailOptions{Size: int64(len(m.body))}); err != nil {
		return nil, &asked{"the sender " + m.from, err}
	}
	for _, recipient := range m.recipients {
		if err := s.client.Rcpt(recipient, nil); err != nil {
			return nil, &asked{"the recipient " + recipient, err}
		}
	}
	data, err := s.client.Data()
	if err != nil {
		return nil, err
	}
	if _, err := data.Write(m.body); err != nil {
		s.line.seal() // any further command would end the mail first
		return nil, err
	}
	return data, nil
}

// defaultFarewell is how long the server may take to say goodbye: the mail is settled by then.
const defaultFarewell = time.Second

// quit takes leave of the server, between mails only, and closes the connection. It waits for nothing: the caller
// leaves the session alone from now on.
func (s *session) quit(closed context.Context, farewell time.Duration) {
	if s.client == nil {
		return
	}
	s.leaving = true
	go func() {
		defer s.line.seal()
		defer context.AfterFunc(closed, s.line.seal)()
		until := time.Now().Add(farewell)
		if s.line.keep(until, until) == nil {
			_ = s.client.Quit() // nothing depends on it
		}
	}()
}

// end closes the connection, unless quit does.
func (s *session) end() {
	if !s.leaving {
		s.line.seal()
	}
}

// notHanded describes a mail that was not handed over, and that is not the server's refusal.
func (s *server) notHanded(ctx context.Context, call connector.Call, err error) *eventlog.Failure {
	if ended := outOfTime(ctx, call, err); ended != nil {
		ended.Message += ": the mail was not handed over to " + s.address
		return ended
	}
	return connector.Failf(eventlog.Transient, "smtp.connect", "the mail was not handed over to %s: %v", s.address,
		connector.ClosedBy("the server", err))
}

// outOfTime says that a call was ended, or nil. The connection keeps the same deadline as the context, and may be
// the first of the two to notice.
func outOfTime(ctx context.Context, call connector.Call, err error) *eventlog.Failure {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return connector.Failf(eventlog.Transient, connector.CodeTimeout, "%s.%s did not end in time", call.Connector,
			call.Operation)
	}
	return connector.ContextFailure(ctx, call)
}

// asked is an error with what the server was asked for.
type asked struct {
	what string
	error
}

// Unwrap is the error alone.
func (a *asked) Unwrap() error { return a.error }

package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// open connects and logs in.
func (s *server) open(ctx context.Context) (*session, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	if address, ok := raw.RemoteAddr().(*net.TCPAddr); s.mode == tlsNone && (!ok || !address.IP.IsLoopback()) {
		raw.Close()
		return nil, connector.Failf(eventlog.Permission, "imap.tls", "no connection to the mail server %s: the name leads "+
			"to %s, which is not this machine, and the connection would not be encrypted: set connectors.imap.tls to "+
			"starttls or implicit", s.address, address)
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	encrypted, first, err := s.encrypt(ctx, raw)
	if !stop() || err != nil {
		raw.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	session := &session{line: &line{Conn: encrypted, raw: raw, first: first}}
	session.line.allow(answerRoom, 0)
	handler := &imapclient.UnilateralDataHandler{Expunge: func(uint32) { session.removed.Add(1) }}
	session.client = imapclient.New(session.line, &imapclient.Options{UnilateralDataHandler: handler})
	_, err = within(ctx, session, func() (struct{}, error) {
		if err := session.client.WaitGreeting(); err != nil {
			return struct{}{}, err
		}
		if session.client.State() != imap.ConnStateNotAuthenticated {
			return struct{}{}, nil // the server knows the caller by the certificate of the connection or by its address
		}
		return struct{}{}, s.login(session.client)
	})
	if err != nil {
		session.end()
		return nil, session.why(err)
	}
	return session, nil
}

// encrypt encrypts the connection as is configured, for the library. first is the greeting, which the library reads
// before anything else.
func (s *server) encrypt(ctx context.Context, raw net.Conn) (conn net.Conn, first io.Reader, err error) {
	if s.mode == tlsNone {
		return s.greeted(raw)
	}
	encrypted := tls.Client(raw, s.tls)
	if s.mode == tlsSTARTTLS {
		if err := s.startTLS(raw); err != nil {
			return nil, nil, connector.ClosedBy("the server", err)
		}
	}
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("TLS handshake: %w", connector.ClosedBy("the server", err))
	}
	if s.mode == tlsSTARTTLS { // it has greeted before
		return encrypted, strings.NewReader("* OK encrypted\r\n"), nil
	}
	return s.greeted(encrypted)
}

// login names the user. AUTHENTICATE is used where it takes one line; elsewhere LOGIN does the same. With several
// lines, the library would wait forever for a server that breaks off in a certain way.
func (s *server) login(client *imapclient.Client) error {
	caps, err := client.Capability().Wait()
	if err != nil {
		return err
	}
	switch {
	case caps.Has("AUTH=PLAIN") && caps.Has(imap.CapSASLIR):
		err = client.Authenticate(sasl.NewPlainClient("", s.username, s.password))
	case caps.Has(imap.CapLoginDisabled):
		return connector.Failf(eventlog.Auth, "imap.auth", "the mail server %s offers no login by a password (it offers %s)",
			s.address, strings.Join(caps.AuthMechanisms(), ", "))
	case strings.ContainsFunc(s.username+s.password, func(r rune) bool { return r > '~' }):
		return connector.Failf(eventlog.Auth, "imap.auth", "the mail server %s takes a username and a password of ASCII "+
			"characters only", s.address)
	default:
		err = client.Login(s.username, s.password).Wait()
	}
	var refused *imap.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", errLogin, refused)
	}
	return err
}

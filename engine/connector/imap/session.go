package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// How many bytes a server may send in answer to a command, and between two commands.
const (
	answerRoom = 64 << 10
	// mailRoom bounds what comes for each mail besides its content: its number, its flags and the like.
	mailRoom = 4 << 10
	// mailLists bounds the lists that come for each mail.
	mailLists = 4
	// numberRoom bounds what comes for each mail that is found.
	numberRoom = 11
)

// window is how many mails are searched at once. For numbers out of order, the time that the library takes grows with
// the square of their count.
const window = 20_000

// session is one connection to the server, logged in. It belongs to one call at a time.
//
// It asks in four ways only, none of which changes anything: EXAMINE, UID SEARCH, UID FETCH of what has no content, and
// UID FETCH of content by BODY.PEEK, which leaves \Seen as it is.
type session struct {
	line   *line
	client *imapclient.Client
	// removed counts the mails that the server has said to be removed: those behind them move up.
	removed atomic.Int64
	// idle is since when it waits for another call.
	idle time.Time
}

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
	told := &imapclient.UnilateralDataHandler{Expunge: func(uint32) { session.removed.Add(1) }}
	session.client = imapclient.New(session.line, &imapclient.Options{UnilateralDataHandler: told})
	_, err = within(ctx, session, func() (struct{}, error) {
		if err := session.client.WaitGreeting(); err != nil {
			return struct{}{}, err
		}
		if session.client.State() != imap.ConnStateNotAuthenticated {
			return struct{}{}, nil // the server knows who asks, by the certificate of the connection or by its address
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

// errLogin is a login that failed, with what the server says of it.
var errLogin = errors.New("the login is refused")

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

// stuckAfter is how long the library has to notice that a connection is closed.
const stuckAfter = 5 * time.Second

// within asks on a session until ctx ends. Then the connection is closed, which ends everything that the library does.
func within[T any](ctx context.Context, s *session, ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := ask()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	case <-s.client.Closed():
	}
	s.line.seal()
	stuck := time.NewTimer(stuckAfter)
	defer stuck.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-stuck.C:
		var none T
		return none, errSealed
	}
}

// examine opens a mailbox for reading, and returns how many mails are in it and the number of its numbering.
func (s *session) examine(ctx context.Context, mailbox string) (mails, validity uint32, err error) {
	s.line.allow(answerRoom, 0)
	s.removed.Store(0)
	data, err := within(ctx, s, func() (*imap.SelectData, error) {
		return s.client.Select(mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	})
	if err != nil {
		return 0, 0, s.why(err)
	}
	return data.NumMessages, data.UIDValidity, nil
}

// search finds the first numbers, at most so many, of the mails behind one that have come on a day or later. mails is
// how many there were when the mailbox was opened.
func (s *session) search(ctx context.Context, mails uint32, behind imap.UID, since time.Time,
	most int) (numbers []imap.UID, err error) {
	for from := int64(1); from <= int64(mails) && len(numbers) < most; from += window {
		criteria := &imap.SearchCriteria{UID: []imap.UIDSet{{{Start: behind + 1}}}, Since: since}
		if mails > window {
			// Mails that were removed meanwhile may have moved those of this window up, by so many at most.
			removed := s.removed.Load()
			begin, end := max(1, from-removed), min(from+window-1, int64(mails)-removed)
			if begin > end {
				break
			}
			criteria.SeqNum = []imap.SeqSet{{{Start: uint32(begin), Stop: uint32(end)}}}
		}
		s.line.allow(answerRoom+numberRoom*min(int64(mails), 2*window), 0)
		all, err := within(ctx, s, func() (imap.NumSet, error) {
			found, err := s.client.UIDSearch(criteria, nil).Wait()
			return found.All, err
		})
		if err != nil {
			return nil, s.why(err)
		}
		numbers = first(all, numbers, behind, most)
	}
	return numbers, nil
}

// first adds the numbers of a set that come after the last of some, or after behind, up to a bound. A server
// may name ranges of billions.
func first(all imap.NumSet, some []imap.UID, behind imap.UID, most int) []imap.UID {
	if len(some) > 0 {
		behind = some[len(some)-1]
	}
	ranges, _ := all.(imap.UIDSet)
	for _, r := range ranges {
		// The mail with the highest number is found whatever was asked for.
		for n := max(r.Start, behind+1); n <= r.Stop && n > behind && len(some) < most; n++ {
			some, behind = append(some, n), n
		}
	}
	return some
}

// end closes the connection, and waits until the library has noticed it.
func (s *session) end() {
	s.line.seal()
	stuck := time.NewTimer(stuckAfter)
	defer stuck.Stop()
	select {
	case <-s.client.Closed():
	case <-stuck.C:
	}
}

// why is the error that ended a question. The line below may know it better than the library.
func (s *session) why(err error) error {
	if ended := s.line.ended(); ended != nil {
		return ended
	}
	return connector.ClosedBy("the server", err)
}

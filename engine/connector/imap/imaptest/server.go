package imaptest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// Username is that of the only user.
const Username = "pawl"

// Server is a running mail server, with a mailbox INBOX.
type Server struct {
	// Address takes connections without encryption, on which STARTTLS is offered; Implicit encrypted ones.
	Address, Implicit string
	// Password is that of the user.
	Password string
	// Roots verify the server.
	Roots *x509.CertPool
}

// certified is a certificate of loopback, and what verifies it.
func certified() (tls.Certificate, *x509.CertPool) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server.TLS.Certificates[0], roots
}

// Start runs a server within the test's process.
func Start(t testing.TB, password string) *Server {
	t.Helper()
	certificate, roots := certified()
	user := imapmemserver.NewUser(Username, password)
	if err := user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	memory := imapmemserver.New()
	memory.AddUser(user)
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
		},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, InsecureAuth: true,
		Logger: log.New(t.Output(), "", 0),
	})
	addresses := make([]string, 2)
	served := make(chan struct{})
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = listener.Addr().String()
		if i == 1 {
			listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}})
		}
		go func() {
			_ = server.Serve(listener) // until it is closed
			served <- struct{}{}
		}()
	}
	t.Cleanup(func() {
		_ = server.Close()
		for range addresses {
			<-served
		}
	})
	return &Server{Address: addresses[0], Implicit: addresses[1], Password: password, Roots: roots}
}

// client is a connection of the test's own.
func (s *Server) client(t testing.TB) *imapclient.Client {
	t.Helper()
	c, err := imapclient.DialInsecure(s.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login(Username, s.Password).Wait(); err != nil {
		c.Close()
		t.Fatal(err)
	}
	return c
}

func must(t testing.TB, c *imapclient.Client, err error) {
	t.Helper()
	if err != nil {
		c.Close()
		t.Fatal(err)
	}
}

// Put delivers a mail, at a time and with flags. Line breaks of the text become CRLF.
func (s *Server) Put(t testing.TB, mailbox, text string, at time.Time, flags ...imap.Flag) {
	t.Helper()
	c := s.client(t)
	defer c.Close()
	mail := []byte(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
	put := c.Append(mailbox, int64(len(mail)), &imap.AppendOptions{Flags: flags, Time: at})
	_, err := bytes.NewReader(mail).WriteTo(put)
	must(t, c, err)
	must(t, c, put.Close())
	_, err = put.Wait()
	must(t, c, err)
}

// Create makes a mailbox.
func (s *Server) Create(t testing.TB, mailbox string) {
	t.Helper()
	c := s.client(t)
	defer c.Close()
	must(t, c, c.Create(mailbox, nil).Wait())
}

// Delete removes a mailbox with all that is in it.
func (s *Server) Delete(t testing.TB, mailbox string) {
	t.Helper()
	c := s.client(t)
	defer c.Close()
	must(t, c, c.Delete(mailbox).Wait())
}

// Expunge removes the mail with this number.
func (s *Server) Expunge(t testing.TB, mailbox string, number imap.UID) {
	t.Helper()
	c := s.client(t)
	defer c.Close()
	_, err := c.Select(mailbox, nil).Wait()
	must(t, c, err)
	deleted := &imap.StoreFlags{Op: imap.StoreFlagsAdd, Flags: []imap.Flag{imap.FlagDeleted}}
	must(t, c, c.Store(imap.UIDSetNum(number), deleted, nil).Close())
	must(t, c, c.Expunge().Close())
}

// Holds is what the server holds of a mailbox, a line for each mail: its number, size and flags.
func (s *Server) Holds(t testing.TB, mailbox string) []string {
	t.Helper()
	c := s.client(t)
	defer c.Close()
	data, err := c.Select(mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	must(t, c, err)
	if data.NumMessages == 0 {
		return nil
	}
	mails, err := c.Fetch(imap.SeqSet{{Start: 1}}, &imap.FetchOptions{UID: true, Flags: true, RFC822Size: true}).Collect()
	must(t, c, err)
	var lines []string
	for _, m := range mails {
		slices.Sort(m.Flags)
		lines = append(lines, fmt.Sprintf("%d: %d bytes, %q", m.UID, m.RFC822Size, m.Flags))
	}
	return lines
}

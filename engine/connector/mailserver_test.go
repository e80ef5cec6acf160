package connector_test

import (
	"io"
	"net"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailServer takes every mail, and answers on the address that it returns.
func mailServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return taker{}, nil }))
	server.AllowInsecureAuth = true
	served := make(chan struct{})
	go func() {
		_ = server.Serve(listener) // until it is closed
		close(served)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return listener.Addr().String()
}

// taker is a connection on which mails are taken.
type taker struct{}

func (taker) AuthMechanisms() []string { return []string{sasl.Plain} }

func (taker) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, _ string) error { return nil }), nil
}

func (taker) Mail(string, *smtp.MailOptions) error { return nil }

func (taker) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (taker) Data(mail io.Reader) error {
	_, err := io.Copy(io.Discard, mail)
	return err
}

func (taker) Reset() {}

func (taker) Logout() error { return nil }

package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/loopback"
)

// Config of the smtp connector. Secrets in it have been expanded already.
type Config struct {
	// Server is the mail server's host and port.
	Server string `yaml:"server"`
	// TLS is how the connection is encrypted: "implicit" from its beginning, "starttls" after a command, or "none". Empty
	// means implicit on port 465, none on loopback, and else starttls.
	TLS string `yaml:"tls"`
	// Username and Password log in; without them no login is tried.
	Username string `yaml:"username"`
	Password string `yaml:"password"`
	// From are the addresses that mails may be sent from, each with or without a name. The first is that of a mail
	// which names none. Required.
	From []string `yaml:"from"`
	// SendersUnknown says that From is not the engine's: a check without an engine does not know the senders, and
	// refuses none.
	SendersUnknown bool `yaml:"-"`
	// Hello is the name by which the server is greeted; empty means "localhost".
	Hello string `yaml:"hello"`
	// Timeout bounds one mail; 0 means 1 minute.
	Timeout time.Duration `yaml:"timeout"`
	// Listen is how long to listen on for the answer to a mail after its deadline;
	// 0 means connector.DefaultListen, negative not at all.
	Listen time.Duration `yaml:"-"`
	// Farewell is how long the server may take to say goodbye when the mail is settled; 0 means 1 second. A seam for
	// tests.
	Farewell time.Duration `yaml:"-"`
	// Secrets are the values that were filled in from outside the configuration, wherever they stand in it. They are
	// blanked out of all that comes back, as the password is.
	Secrets []string `yaml:"-"`
	// RootCAs verify the server; nil means the system's. A seam for tests.
	RootCAs *x509.CertPool `yaml:"-"`
}

// The ways in which a connection is encrypted.
const (
	tlsImplicit = "implicit"
	tlsSTARTTLS = "starttls"
	tlsNone     = "none"
)

// server is a validated Config.
type server struct {
	address string // host:port
	mode    string
	tls     *tls.Config
	// loopbackOnly is true where the connection is not encrypted because the host is loopback. The address that is
	// really dialled must be loopback too.
	loopbackOnly       bool
	username, password string
	from               []mail.Address
	anySender          bool // Config.SendersUnknown
	hello              string
}

func wrong(key, format string, args ...any) error {
	key = "connectors.smtp." + key
	return &connector.SettingError{Key: key, Err: fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...))}
}

func newServer(config Config) (*server, error) {
	if err := connector.CheckTimeout("smtp", config.Timeout); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(config.Server)
	if err != nil || host == "" || port == "" {
		return nil, wrong("server", "want the host and port of the mail server, e.g. smtp.example.com:465, not %q",
			config.Server)
	}
	s := &server{address: config.Server, mode: config.TLS, username: config.Username, password: config.Password,
		hello: config.Hello, anySender: config.SendersUnknown}
	near := loopback.Host(host)
	switch {
	case s.mode == "" && port == "465":
		s.mode = tlsImplicit
	case s.mode == "" && near:
		s.mode = tlsNone
	case s.mode == "":
		s.mode = tlsSTARTTLS
	case s.mode != tlsImplicit && s.mode != tlsSTARTTLS && s.mode != tlsNone:
		return nil, wrong("tls", "want %s, %s or %s, not %q", tlsImplicit, tlsSTARTTLS, tlsNone, s.mode)
	}
	s.loopbackOnly = s.mode == tlsNone && near
	s.tls = &tls.Config{ServerName: host, RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12}
	switch {
	case s.username == "" && s.password != "":
		return nil, wrong("username", "it is missing, but connectors.smtp.password is set: set both or neither")
	case s.username != "" && s.password == "":
		return nil, wrong("password", "it is missing, but connectors.smtp.username is set: set both or neither")
	case s.password != "" && len(s.password) < redact.Shortest:
		return nil, wrong("password", "it has fewer than %d bytes; so short a value cannot be told from other text in "+
			"answers, so it must not be sent", redact.Shortest)
	case s.username != "" && s.mode == tlsNone && !near:
		return nil, wrong("tls", "a password is not sent unencrypted to %s: use %s or %s", host, tlsImplicit, tlsSTARTTLS)
	case strings.ContainsFunc(s.hello, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, wrong("hello", "%q is not a host name", s.hello)
	}
	if len(config.From) == 0 {
		return nil, wrong("from", "it is missing: name the addresses that mails may be sent from")
	}
	for i, text := range config.From {
		address, err := parseAddress(text)
		if err != nil {
			return nil, wrong(fmt.Sprintf("from[%d]", i), "%w", err)
		}
		s.from = append(s.from, address)
	}
	return s, nil
}

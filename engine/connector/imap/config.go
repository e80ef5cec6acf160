package imap

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/loopback"
)

// Config of the imap connector. Secrets in it have been expanded already.
type Config struct {
	// Server is the mail server's host and port.
	Server string `yaml:"server"`
	// TLS is how the connection is encrypted: "implicit" from its beginning, "starttls" after a command, or "none", which
	// only loopback may have. Empty means implicit on port 993, none on loopback, and else starttls.
	TLS string `yaml:"tls"`
	// Username and Password log in. Both are required.
	Username string `yaml:"username"`
	Password string `yaml:"password"`
	// Timeout bounds one call; 0 means connector.DefaultTimeout.
	Timeout time.Duration `yaml:"timeout"`
	// Connections is how many calls may be under way at the server at once, each on a connection of its own; 0 means 4.
	Connections int `yaml:"connections"`
	// Parser makes the command of a process that takes mails apart; see mailparse.Config. Required.
	Parser func() *exec.Cmd `yaml:"-"`
	// Logger hears of a process that is not fully confined; nil means slog.Default().
	Logger *slog.Logger `yaml:"-"`
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

const (
	// defaultConnections is below what large providers allow one user, who has other programs too.
	defaultConnections = 4
	// maxConnections bounds what can be configured: each call may hold a mail in memory.
	maxConnections = 16
)

// server is a validated Config.
type server struct {
	address            string // host:port
	mode               string
	tls                *tls.Config
	username, password string
}

func wrong(key, format string, args ...any) error {
	key = "connectors.imap." + key
	return &connector.SettingError{Key: key, Err: fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...))}
}

func newServer(config Config) (*server, error) {
	if err := connector.CheckTimeout("imap", config.Timeout); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(config.Server)
	if err != nil || host == "" || port == "" {
		return nil, wrong("server", "want the host and port of the mail server, e.g. imap.example.com:993, not %q",
			config.Server)
	}
	s := &server{address: config.Server, mode: config.TLS, username: config.Username, password: config.Password}
	near := loopback.Host(host)
	switch {
	case s.mode == "" && port == "993":
		s.mode = tlsImplicit
	case s.mode == "" && near:
		s.mode = tlsNone
	case s.mode == "":
		s.mode = tlsSTARTTLS
	case s.mode != tlsImplicit && s.mode != tlsSTARTTLS && s.mode != tlsNone:
		return nil, wrong("tls", "want %s, %s or %s, not %q", tlsImplicit, tlsSTARTTLS, tlsNone, s.mode)
	}
	s.tls = &tls.Config{ServerName: host, RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12}
	switch {
	case s.username == "":
		return nil, wrong("username", "it is missing")
	case s.password == "":
		return nil, wrong("password", "it is missing")
	case len(s.password) < redact.Shortest:
		return nil, wrong("password", "it has fewer than %d bytes; so short a value cannot be told from other text in "+
			"answers, so it must not be sent", redact.Shortest)
	case strings.ContainsAny(s.username+s.password, "\x00\r\n"):
		return nil, wrong("password", "the username or the password has a line break or NUL in it")
	case s.mode == tlsNone && !near:
		return nil, wrong("tls", "a password is not sent unencrypted to %s: use %s or %s", host, tlsImplicit, tlsSTARTTLS)
	case config.Connections < 0 || config.Connections > maxConnections:
		return nil, wrong("connections", "want a number from 1 to %d, not %d", maxConnections, config.Connections)
	}
	return s, nil
}

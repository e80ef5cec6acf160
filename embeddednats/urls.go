package embeddednats

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/pawl-run/pawl/eventlog/durable"
)

// ClientURL returns the listener's URL without credentials; empty when no listener was asked for.
func (s *Server) ClientURL() string {
	if !s.listens || s.nats.Addr() == nil {
		return ""
	}
	return s.scheme() + "://" + s.nats.Addr().String()
}

func (s *Server) scheme() string {
	if s.secure {
		return "tls"
	}
	return "nats"
}

// WriteURLs writes a file NAME.url for each user of the listener, with a complete URL, readable by the owner only,
// and the address into the files of the tools. A file appears whole or not at all, also over a crash. It fails
// without a listener that has users, and when a file cannot be written.
func (s *Server) WriteURLs(dir string) error {
	if s.nats.Addr() == nil || len(s.users) == 0 {
		return errors.New("write NATS URLs: the server has no listener with users")
	}
	address, err := s.address()
	if err != nil {
		return fmt.Errorf("write NATS URLs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write NATS URLs: %w", err)
	}
	for _, u := range s.users {
		address := url.URL{Scheme: s.scheme(), User: url.UserPassword(u.Name, u.Password), Host: address}
		if err := durable.WriteFile(urlFile(dir, u.Name), []byte(address.String()+"\n")); err != nil {
			return fmt.Errorf("write the URL of NATS user %s: %w", u.Name, err)
		}
	}
	return readdress(dir, s.scheme(), address)
}

// address is the host and port that programs on this machine connect to. A server that listens on all addresses is
// reached by loopback; for a program on another machine a person must write this machine's name in its place.
func (s *Server) address() (string, error) {
	host, port, err := net.SplitHostPort(s.nats.Addr().String())
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// The files of [Server.WriteLocalURLs], without their ending.
const (
	// LocalURL leads to the account with the streams.
	LocalURL = "cluster"
	// LocalSystemURL leads to the system account.
	LocalSystemURL = "cluster-system"
)

// WriteLocalURLs writes two files into dir, readable by the owner only, by which commands on this machine form the
// cluster and take nodes out of it. Both are let in from this machine alone, and until the server ends. It fails with
// ErrAlone outside a cluster.
func (s *Server) WriteLocalURLs(dir string) error {
	if s.cluster == "" {
		return ErrAlone
	}
	address, err := s.address()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	for file, user := range map[string]string{LocalURL: localUser, LocalSystemURL: localSystemUser} {
		if err == nil {
			url := url.URL{Scheme: s.scheme(), User: url.UserPassword(user, s.password), Host: address}
			err = durable.WriteFile(urlFile(dir, file), []byte(url.String()+"\n"))
		}
	}
	if err != nil {
		return fmt.Errorf("write the URLs for commands on this machine: %w", err)
	}
	return nil
}

package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// TLS reads the certificate, or returns nil when none is configured. It fails when the files cannot be read or
// do not belong together.
func (s Settings) TLS() (*tls.Config, error) {
	if s.TLSCert == "" && s.TLSKey == "" {
		return nil, nil
	}
	if s.TLSCert == "" || s.TLSKey == "" {
		return nil, exit.Misconfigured("give both --tls-cert and --tls-key", "a certificate and its key belong together")
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, s.Origin.Locate("tls-cert", exit.Misconfigured(
			"--tls-cert and --tls-key name PEM files that this user can read, and the key is that of the certificate",
			"read TLS certificate: %v", err))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Address is the address to listen on. Without a host it means this machine only: a host must be written to open an
// engine to the network.
func (s Settings) Address() string { return withHost(s.HTTP) }

// HooksAddress is the address to listen on for hooks alone, in the form of Address; empty for none.
func (s Settings) HooksAddress() string { return withHost(s.HooksListen) }

func withHost(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// CheckPort refuses a number that can be no port. An empty port and the name of a service are left to the system.
func CheckPort(port string) error {
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return fmt.Errorf("port %d is not between 0 and 65535", n)
	}
	return nil
}

// NATSAddress is the address to listen on for NATS. As with HTTP, without a host it means this machine only.
func (s Settings) NATSAddress() (string, error) {
	if s.NATSListen == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(s.NATSListen)
	if err != nil {
		return "", s.Origin.Locate("nats-listen", exit.Misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %v", err))
	}
	if err := CheckPort(port); err != nil {
		return "", s.Origin.Locate("nats-listen", exit.Misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %q: %v",
			s.NATSListen, err))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Reachable turns an address to listen on into one to connect to from this machine.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

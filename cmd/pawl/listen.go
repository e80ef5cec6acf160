package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/ops/auth"
)

// urlFile, in the data directory, holds the address while an engine runs there.
const urlFile = "http.url"

// tls reads the certificate, or returns nil when none is configured.
func (s settings) tls() (*tls.Config, error) {
	if s.TLSCert == "" && s.TLSKey == "" {
		return nil, nil
	}
	if s.TLSCert == "" || s.TLSKey == "" {
		return nil, exit.Misconfigured("give both --tls-cert and --tls-key", "a certificate and its key belong together")
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, s.origin.locate("tls-cert", exit.Misconfigured("", "read TLS certificate: %v", err))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// address is where to listen. An address without a host means this machine only: opening an engine
// to the network has to be written out.
func (s settings) address() string {
	if host, port, err := net.SplitHostPort(s.HTTP); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return s.HTTP
}

// listen takes the address and writes it down for the other commands.
func (in *installation) listen(ctx context.Context, encrypted bool) error {
	addr := in.settings.address()
	how := auth.Listening{TLS: encrypted, Plaintext: in.settings.Plaintext, NoAuth: in.settings.NoAuth}
	if err := auth.CheckListen(addr, how); err != nil {
		return in.settings.origin.locate("http", exit.Misconfigured("", "%v", err))
	}
	if _, port, err := net.SplitHostPort(addr); err == nil {
		if err := checkPort(port); err != nil {
			return in.settings.origin.locate("http", exit.Misconfigured("write e.g. 127.0.0.1:7070", "http: %q: %v", addr, err))
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return exit.Failed("another program listens there, maybe another pawl; take another address: --http 127.0.0.1:0 takes a free port",
			fmt.Errorf("the address %s is taken", addr))
	case err != nil:
		return in.settings.origin.locate("http", exit.Failed("correct --http, or http in the configuration file", fmt.Errorf("listen on %s: %w", addr, err)))
	}
	in.listener = listener
	if err := auth.CheckListen(listener.Addr().String(), how); err != nil { // where a name has led
		return errors.Join(in.settings.origin.locate("http", exit.Misconfigured("", "%v", err)), listener.Close())
	}
	in.onClose(func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	path := filepath.Join(in.settings.Data, urlFile)
	if err := writeFile(path, []byte(in.url(encrypted)+"\n")); err != nil {
		return exit.Failed("", fmt.Errorf("write down the address: %w", err))
	}
	in.onClose(func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return nil
}

// checkPort refuses what can be no port; none and names of services are left to the system.
func checkPort(port string) error {
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return fmt.Errorf("port %d is not between 0 and 65535", n)
	}
	return nil
}

// url is the address that other programs on this machine can use.
func (in *installation) url(encrypted bool) string {
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	return scheme + "://" + reachable(in.listener.Addr().String())
}

// writeFile replaces a file so that a reader, or a crash, sees the old or the new content.
func writeFile(path string, content []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	if _, err := temporary.Write(content); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

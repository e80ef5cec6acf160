package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog/durable"
	"github.com/pawl-run/pawl/ops/auth"
)

// Endpoint is an address at which the interface, or hooks alone, answer over HTTP.
type Endpoint struct {
	net.Listener
	encrypted bool
}

// listen takes the address and writes it down for the other commands.
func listen(ctx context.Context, s config.Settings, encrypted bool, opened *storage.Closers) (*Endpoint, error) {
	how := auth.Listening{TLS: encrypted, Plaintext: s.Plaintext, NoAuth: s.NoAuth}
	e, err := takeAddress(ctx, s, "http", s.Address(), how, opened)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Data, datadir.URLFile)
	if err := durable.WriteFile(path, []byte(e.URL()+"\n")); err != nil {
		return nil, exit.Failed(datadir.LetWrite(s.Data), fmt.Errorf("write down the address: %w", err))
	}
	opened.Add(func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return e, nil
}

// listenForHooks takes the address at which hooks alone answer; nil where there is none. No token is asked for there.
func listenForHooks(
	ctx context.Context, s config.Settings, encrypted bool, opened *storage.Closers,
) (*Endpoint, error) {
	addr := s.HooksAddress()
	if addr == "" {
		return nil, nil
	}
	how := auth.Listening{TLS: encrypted, Plaintext: s.Plaintext}
	return takeAddress(ctx, s, "hooks-listen", addr, how, opened)
}

// takeAddress takes the address of the setting.
func takeAddress(ctx context.Context, s config.Settings, setting, addr string, how auth.Listening,
	opened *storage.Closers) (*Endpoint, error) {
	alone := "for this machine alone: --" + setting + " 127.0.0.1:PORT"
	if err := auth.CheckListen(addr, how); err != nil {
		return nil, s.Origin.Locate(setting, exit.Misconfigured(alone, "%v", err))
	}
	if _, port, err := net.SplitHostPort(addr); err == nil {
		if err := config.CheckPort(port); err != nil {
			return nil, s.Origin.Locate(setting,
				exit.Misconfigured("write e.g. 127.0.0.1:7070", "%s: %q: %v", setting, addr, err))
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exit.Failed("another program listens there, maybe another pawl; "+
			"take another address: --"+setting+" 127.0.0.1:0 takes a free port", fmt.Errorf("the address %s is taken", addr))
	case err != nil:
		return nil, s.Origin.Locate(setting, exit.Failed("correct --"+setting+", or "+setting+" in the configuration file",
			fmt.Errorf("listen on %s: %w", addr, err)))
	}
	if err := auth.CheckListen(listener.Addr().String(), how); err != nil { // a name may have led to another address
		return nil, errors.Join(s.Origin.Locate(setting, exit.Misconfigured(alone, "%v", err)), listener.Close())
	}
	opened.Add(func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return &Endpoint{Listener: listener, encrypted: how.TLS}, nil
}

// URL is the address that other programs on this machine can use.
func (e *Endpoint) URL() string {
	scheme := "http"
	if e.encrypted {
		scheme = "https"
	}
	return scheme + "://" + config.Reachable(e.Addr().String())
}

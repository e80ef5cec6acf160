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
	"github.com/pawl-run/pawl/ops/auth"
)

// listen takes the address and writes it down for the other commands.
func (in *Node) listen(ctx context.Context, encrypted bool) error {
	addr := in.Settings.Address()
	how := auth.Listening{TLS: encrypted, Plaintext: in.Settings.Plaintext, NoAuth: in.Settings.NoAuth}
	if err := auth.CheckListen(addr, how); err != nil {
		return in.Settings.Origin.Locate("http", exit.Misconfigured("", "%v", err))
	}
	if _, port, err := net.SplitHostPort(addr); err == nil {
		if err := config.CheckPort(port); err != nil {
			return in.Settings.Origin.Locate("http", exit.Misconfigured("write e.g. 127.0.0.1:7070", "http: %q: %v", addr, err))
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return exit.Failed("another program listens there, maybe another pawl; take another address: --http 127.0.0.1:0 takes a free port",
			fmt.Errorf("the address %s is taken", addr))
	case err != nil:
		return in.Settings.Origin.Locate("http", exit.Failed("correct --http, or http in the configuration file", fmt.Errorf("listen on %s: %w", addr, err)))
	}
	in.Listener = listener
	if err := auth.CheckListen(listener.Addr().String(), how); err != nil { // where a name has led
		return errors.Join(in.Settings.Origin.Locate("http", exit.Misconfigured("", "%v", err)), listener.Close())
	}
	in.onClose(func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	path := filepath.Join(in.Settings.Data, datadir.URLFile)
	if err := datadir.WriteFile(path, []byte(in.URL(encrypted)+"\n")); err != nil {
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

// URL is the address that other programs on this machine can use.
func (in *Node) URL(encrypted bool) string {
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	return scheme + "://" + config.Reachable(in.Listener.Addr().String())
}

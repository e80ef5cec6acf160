package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats"
)

// natsDir, in the data directory, holds a file with a URL for each user of the NATS listener.
const natsDir = "nats"

// natsCaller is the user as whom the commands of this program look for tools and try them.
const natsCaller = "caller"

// natsPrefix is the first token of all subjects.
const natsPrefix = "pawl"

// natsAddress is where to listen for NATS; as with HTTP, an address without a host means this
// machine only.
func (s settings) natsAddress() (string, error) {
	if s.NATSListen == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(s.NATSListen)
	if err != nil {
		return "", s.origin.locate("nats-listen", exit.Misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %v", err))
	}
	if err := checkPort(port); err != nil {
		return "", s.origin.locate("nats-listen", exit.Misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %q: %v", s.NATSListen, err))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// openToNATS gives the broker its listener, if one is wanted. There is none without users.
func (in *installation) openToNATS(broker *embeddednats.Config) error {
	addr, err := in.settings.natsAddress()
	if err != nil || addr == "" {
		return err
	}
	beyond := beyondLoopback(addr)
	if beyond {
		if broker.TLS, err = in.settings.tls(); err != nil {
			return err
		}
		if broker.TLS == nil && !in.settings.Plaintext {
			return in.settings.origin.locate("nats-listen", exit.Misconfigured("give --tls-cert and --tls-key, listen on 127.0.0.1, or pass --plaintext where TLS ends before pawl",
				"refusing to listen on %s for NATS: beyond this machine passwords, and what tools are sent, would be readable without TLS", addr))
		}
	}
	in.natsTLS = broker.TLS != nil
	users, err := embeddednats.Users(in.natsDir(), natsPrefix, 1)
	if err != nil {
		return exit.Failed("", err)
	}
	broker.ListenAddr, broker.Prefix = addr, natsPrefix
	broker.Users = append(users, embeddednats.User{
		// Its password is new with each start: only commands on this machine, which read it
		// anew, have a use for it.
		Name: natsCaller, Password: rand.Text(), Account: embeddednats.ConnectorsAccount, EachTool: true, Local: true,
		Subscribe: []string{callerInbox + ".>"},
		Publish:   []string{natsPrefix + ".tool.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>"},
	})
	return nil
}

// beyondLoopback says whether other machines may reach the address.
func beyondLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback())
}

func (in *installation) natsDir() string { return filepath.Join(in.settings.Data, natsDir) }

// writeNATSURLs writes down how to connect to the listener, if there is one. The URL of the commands
// is there only while an engine listens: it is how they know.
func (in *installation) writeNATSURLs() error {
	forget := func() error {
		for _, name := range []string{natsCaller + ".url", natsCertificate} {
			if err := os.Remove(filepath.Join(in.natsDir(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	if in.server.ClientURL() == "" {
		if err := forget(); err != nil { // what an engine left that was killed
			return exit.Failed("", err)
		}
		return nil
	}
	if err := in.server.WriteURLs(in.natsDir()); err != nil {
		return exit.Failed("", err)
	}
	if err := in.writeNATSCertificate(); err != nil {
		return exit.Failed("", err)
	}
	in.onClose(forget)
	return nil
}

// announceNATS says where tools find what they need to connect.
func (in *installation) announceNATS(out io.Writer) {
	if address := in.server.ClientURL(); address != "" {
		fmt.Fprintf(out, "pawl: NATS listens on %s; give each tool a URL of its own with pawl connectors add; those of this machine may share the one in %s\n", address, shown(filepath.Join(in.natsDir(), embeddednats.Connector+".url")))
	}
}

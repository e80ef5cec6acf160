package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
)

// openToNATS gives the broker its listener, if one is wanted. There is none without users.
func (in *Node) openToNATS(broker *embeddednats.Config) error {
	addr, err := in.Settings.NATSAddress()
	if err != nil || addr == "" {
		return err
	}
	beyond := beyondLoopback(addr)
	if beyond {
		if broker.TLS, err = in.Settings.TLS(); err != nil {
			return err
		}
		if broker.TLS == nil && !in.Settings.Plaintext {
			return in.Settings.Origin.Locate("nats-listen", exit.Misconfigured("give --tls-cert and --tls-key, listen on 127.0.0.1, or pass --plaintext where TLS ends before pawl",
				"refusing to listen on %s for NATS: beyond this machine passwords, and what tools are sent, would be readable without TLS", addr))
		}
	}
	in.natsTLS = broker.TLS != nil
	users, err := embeddednats.Users(in.NatsDir(), datadir.NATSPrefix, 1)
	if err != nil {
		return exit.Failed("", err)
	}
	broker.ListenAddr, broker.Prefix = addr, datadir.NATSPrefix
	broker.Users = append(users, embeddednats.User{
		// Its password is new with each start: only commands on this machine, which read it
		// anew, have a use for it.
		Name: datadir.NATSCaller, Password: rand.Text(), Account: embeddednats.ConnectorsAccount, EachTool: true, Local: true,
		Subscribe: []string{datadir.CallerInbox + ".>"},
		Publish:   []string{datadir.NATSPrefix + ".tool.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>"},
	})
	return nil
}

// beyondLoopback says whether other machines may reach the address.
func beyondLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback())
}

func (in *Node) NatsDir() string { return filepath.Join(in.Settings.Data, datadir.NATSDir) }

// writeNATSURLs writes down how to connect to the listener, if there is one. The URL of the commands
// is there only while an engine listens: it is how they know.
func (in *Node) writeNATSURLs() error {
	forget := func() error {
		for _, name := range []string{datadir.NATSCaller + ".url", datadir.NATSCertificate} {
			if err := os.Remove(filepath.Join(in.NatsDir(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	if in.Server.ClientURL() == "" {
		if err := forget(); err != nil { // what an engine left that was killed
			return exit.Failed("", err)
		}
		return nil
	}
	if err := in.Server.WriteURLs(in.NatsDir()); err != nil {
		return exit.Failed("", err)
	}
	if err := in.writeNATSCertificate(); err != nil {
		return exit.Failed("", err)
	}
	in.onClose(forget)
	return nil
}

// announceNATS says where tools find what they need to connect.
func (in *Node) announceNATS(out io.Writer) {
	if address := in.Server.ClientURL(); address != "" {
		fmt.Fprintf(out, "pawl: NATS listens on %s; give each tool a URL of its own with pawl connectors add; those of this machine may share the one in %s\n", address, term.Path(filepath.Join(in.NatsDir(), embeddednats.Connector+".url")))
	}
}

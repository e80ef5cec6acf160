package storage

import (
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/loopback"
	"github.com/pawl-run/pawl/eventlog/durable"
)

// natsListener is the listener at which the broker answers tools, subscribers and operators, if that is wanted, and the
// files that tell them how to connect.
type natsListener struct {
	settings  config.Settings
	encrypted bool // it asks for TLS
}

// Dir is the folder with the listener's files.
func (l *natsListener) Dir() string { return filepath.Join(l.settings.Data, datadir.NATSDir) }

// mostRead is how many partitions of a cluster's log subscribers may read.
const mostRead = 64

// configure gives the broker its listener, if one is wanted. There is none without users.
func (l *natsListener) configure(broker *embeddednats.Config) error {
	addr, err := l.settings.NATSAddress()
	if err != nil || addr == "" {
		return err
	}
	if !loopback.Address(addr) {
		if broker.TLS, err = l.settings.TLS(); err != nil {
			return err
		}
		if broker.TLS == nil && !l.settings.Plaintext {
			return l.settings.Origin.Locate("nats-listen", exit.Misconfigured(
				"give --tls-cert and --tls-key, listen on 127.0.0.1, or pass --plaintext where TLS ends before pawl",
				"refusing to listen on %s for NATS: beyond this machine passwords, and what tools are sent, "+
					"would be readable without TLS", addr))
		}
	}
	l.encrypted = broker.TLS != nil
	partitions := 1
	if l.settings.Cluster.On() {
		partitions = mostRead // how many the log has is not known before the cluster is there
	}
	users, err := embeddednats.Users(l.Dir(), datadir.NATSPrefix, partitions)
	if err != nil {
		return exit.Failed("let this user read the files in "+term.Path(l.Dir()), err)
	}
	for i, user := range users {
		if user.Name == embeddednats.Connector {
			users[i].Warning += "; give each tool a user of its own: pawl connectors add NAME"
		}
	}
	broker.ListenAddr, broker.Prefix = addr, datadir.NATSPrefix
	broker.Users = append(users, embeddednats.User{
		// Its password is new with each start: only commands on this machine, which read it
		// anew, have a use for it.
		Name: datadir.NATSCaller, Password: rand.Text(), Account: embeddednats.ConnectorsAccount,
		EachTool: true, Local: true,
		Subscribe: []string{datadir.CallerInbox + ".>"},
		Publish:   []string{datadir.NATSPrefix + ".tool.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>"},
	})
	return nil
}

// writeDown writes down how to connect to the listener, if there is one. The URL of the commands is there only while an
// engine listens: by that they know that it does.
func (l *natsListener) writeDown(server *embeddednats.Server, opened *Closers) error {
	if server.ClientURL() == "" {
		if err := l.forget(); err != nil { // an engine that was killed has left its files
			return exit.Failed(datadir.LetWrite(l.Dir()), err)
		}
		return nil
	}
	if err := server.WriteURLs(l.Dir()); err != nil {
		return exit.Failed(datadir.LetWrite(l.Dir()), err)
	}
	if err := l.writeCertificate(); err != nil {
		return exit.Failed("", err)
	}
	opened.Add(l.forget)
	return nil
}

// forget removes the files that are there only while an engine listens.
func (l *natsListener) forget() error {
	for _, name := range []string{datadir.NATSCaller + ".url", datadir.NATSCertificate} {
		if err := os.Remove(filepath.Join(l.Dir(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeCertificate writes down which certificate the listener has, if it has one.
func (l *natsListener) writeCertificate() error {
	path := filepath.Join(l.Dir(), datadir.NATSCertificate)
	certificate, err := l.settings.TLS()
	if err != nil {
		return err
	}
	if certificate == nil || !l.encrypted {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	leaf := certificate.Certificates[0].Certificate[0]
	return durable.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))
}

// Announce says how tools connect to the listener at address, and nothing where the address is empty.
func (l *natsListener) Announce(out io.Writer, address string) {
	if address != "" {
		fmt.Fprintf(out, "pawl: NATS listens on %s; give each tool a URL of its own with pawl connectors add; "+
			"those of this machine may share the one in %s\n",
			address, term.Path(filepath.Join(l.Dir(), embeddednats.Connector+".url")))
	}
}

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
		return "", s.origin.locate("nats-listen", misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %v", err))
	}
	if err := checkPort(port); err != nil {
		return "", s.origin.locate("nats-listen", misconfigured("write e.g. 127.0.0.1:4222", "nats-listen: %q: %v", s.NATSListen, err))
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
	users, err := embeddednats.Users(in.natsDir(), natsPrefix, 1)
	if err != nil {
		return failed("", err)
	}
	inbox := callerInbox + ".>"
	broker.ListenAddr = addr
	broker.Users = append(users, embeddednats.User{
		// Its password is new with each start: only commands on this machine, which read it
		// anew, have a use for it.
		Name: natsCaller, Password: rand.Text(), Subscribe: []string{inbox},
		Publish: []string{natsPrefix + ".tool.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>"},
	})
	if host, _, err := net.SplitHostPort(addr); err == nil {
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			in.logger.Warn("NATS answers beyond this machine without TLS: whoever sees the traffic learns the passwords and what tools are sent", "address", addr)
		}
	}
	return nil
}

func (in *installation) natsDir() string { return filepath.Join(in.settings.Data, natsDir) }

// writeNATSURLs writes down how to connect to the listener, if there is one. The URL of the commands
// is there only while an engine listens: it is how they know.
func (in *installation) writeNATSURLs() error {
	forget := func() error {
		if err := os.Remove(filepath.Join(in.natsDir(), natsCaller+".url")); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if in.server.ClientURL() == "" {
		if err := forget(); err != nil { // what an engine left that was killed
			return failed("", err)
		}
		return nil
	}
	if err := in.server.WriteURLs(in.natsDir()); err != nil {
		return failed("", err)
	}
	in.onClose(forget)
	return nil
}

// announceNATS says where tools find what they need to connect.
func (in *installation) announceNATS(out io.Writer) {
	if address := in.server.ClientURL(); address != "" {
		fmt.Fprintf(out, "pawl: NATS listens on %s; tools connect with the URL in %s\n", address, shown(filepath.Join(in.natsDir(), embeddednats.Connector+".url")))
	}
}

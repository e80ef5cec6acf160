package embeddednats

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pawl-run/pawl/engine/loopback"
)

// Cluster says how a server finds its peers. The name of the server ([Config.Name]) is the name of the node.
type Cluster struct {
	// Name is the same on all servers. Required.
	Name string
	// Listen is the `host:port` for the other servers. Required.
	Listen string
	// Routes are the `host:port` of all servers, this one may be among them. Required.
	Routes []string
	// Advertise is the `host:port` that the other servers are told to reach this one at; empty means Listen.
	Advertise string
	// TLS is what the servers show one another: see [ClusterTLS]. Required unless all addresses are on loopback.
	TLS *tls.Config
}

// routeTLSTime is how long two nodes may take for their handshake. The server's default of two seconds is too short on
// a busy machine.
const routeTLSTime = 10 * time.Second

// clusterName is what the names of a cluster and of its nodes may be: they become parts of subjects.
var clusterName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
})

func (c *Cluster) apply(o *server.Options) error {
	if c.Name == "" || len(c.Routes) == 0 {
		return errors.New("name and routes are required")
	}
	if o.ServerName == "" {
		return errors.New("a server in a cluster needs a name of its own that stays the same")
	}
	for what, name := range map[string]string{"cluster": c.Name, "node": o.ServerName} {
		if !clusterName().MatchString(name) {
			return fmt.Errorf("the name of the %s, %.80q, must match %s", what, name, clusterName())
		}
	}
	host, port, err := hostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	o.Cluster = server.ClusterOpts{Name: c.Name, Host: host, Port: port, Advertise: c.Advertise}
	if c.Advertise != "" {
		if _, _, err := hostPort(c.Advertise); err != nil {
			return fmt.Errorf("advertised address: %w", err)
		}
	}
	for _, r := range c.Routes {
		if _, _, err := hostPort(r); err != nil {
			return fmt.Errorf("route: %w", err)
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: r})
	}
	o.LameDuckDuration, o.LameDuckGracePeriod = leaveTime, leaveTime/10
	o.ReconnectErrorReports = reportedAttempts
	return c.secure(o)
}

// reportedAttempts is how many attempts to reach a node that is away make one line in the log. The server tries every
// 1 to 2 s, on each of its routes, and would report each attempt.
const reportedAttempts = 150

// leaveTime is how long a node that leaves takes to close its connections, all of which come from its own process.
const leaveTime = 100 * time.Millisecond

// secure gives the routes their TLS. Without it every program that reaches the address could join the cluster and read
// and write all streams, so it may be left out on loopback alone.
func (c *Cluster) secure(o *server.Options) error {
	if c.TLS == nil {
		for _, address := range append([]string{c.Listen, c.Advertise}, c.Routes...) {
			if address != "" && !loopback.Address(address) {
				return fmt.Errorf("%s is beyond this machine: %w", address, ErrClusterPlain)
			}
		}
		return nil
	}
	if c.TLS.ClientAuth != tls.RequireAndVerifyClientCert || c.TLS.ClientCAs == nil || c.TLS.RootCAs == nil ||
		len(c.TLS.Certificates) == 0 {
		return errors.New("TLS between the nodes must be mutual: each shows a certificate, and checks that of the other")
	}
	o.Cluster.TLSConfig = c.TLS
	o.Cluster.TLSTimeout = routeTLSTime.Seconds()
	return nil
}

// ErrClusterPlain: the nodes of a cluster would talk without TLS beyond one machine.
var ErrClusterPlain = errors.New("nodes that talk over a network need TLS between them, " +
	"else every program that reaches them could join the cluster")

func hostPort(addr string) (string, int, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port: %w", addr, err)
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q has no usable port", addr)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(port), nil
}

// ClusterTLS reads the TLS of a node: its certificate and key, and the authority that has signed those of all nodes.
// A certificate must be for the host by which the other nodes reach this one, as a server and as a client. It fails
// when a file cannot be read, or holds no certificate.
func ClusterTLS(certFile, keyFile, authorityFile string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the node: %w", err)
	}
	text, err := os.ReadFile(authorityFile)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the nodes' certificates: %w", err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authority of the nodes' certificates: %s holds no certificate", authorityFile)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority, RootCAs: authority}, nil
}

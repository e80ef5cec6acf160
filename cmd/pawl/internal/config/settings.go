package config

import (
	"time"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// The data directory and the address where none is named.
const (
	DefaultData = ".pawl"
	DefaultHTTP = "127.0.0.1:7070"
)

// Settings are the result of flags, environment and configuration file.
type Settings struct {
	// File is the configuration file that was read, empty for none.
	File string
	// Data is the data directory, absolute.
	Data string
	HTTP string
	// NATSListen is the address at which the broker listens, empty for none.
	NATSListen string
	// Servers are NATS servers of one's own that keep the log; the zero value is for the server inside of pawl.
	Servers Servers
	// Cluster is the cluster of which the server inside of pawl is a node.
	Cluster Cluster
	// HooksListen is the address at which hooks alone are answered, empty for none.
	HooksListen string
	// Feed says that facts are published; FeedBytes how many bytes of them are kept, 0 for a share of the disk.
	Feed      bool
	FeedBytes int64
	// Traces is the collector that traces are sent to, empty for none; TracesSample is the part of the traces that is
	// made, 0 to 1.
	Traces       string
	TracesSample float64
	// SyncInterval is 0 for syncing every write.
	SyncInterval    time.Duration
	TLSCert, TLSKey string
	// Plaintext says that TLS ends before this engine; NoAuth that it asks for no token.
	Plaintext, NoAuth bool
	// PublicURL is the address at which this engine is reached from elsewhere, empty for none.
	PublicURL  string
	Sandbox    confine.Level
	Clock      clockSettings
	UntilIdle  bool
	URL, As    string
	Connectors Connectors
	Policies   schedule.Policies
	Secrets    secret.Set
	// Vars are the plain settings that scripts read as ctx.vars.
	Vars sandbox.Vars
	// Recordings is what is kept of the workflows whose runs are recorded.
	Recordings map[eventlog.WorkflowName]recording.Keep
	// Subscriptions are the receivers of facts of the feed.
	Subscriptions []Subscription
	// Alerts are the receivers of alerts.
	Alerts []Alert

	Origin origin
}

// Servers are NATS servers that run without pawl and keep its log. Several engines share it then.
type Servers struct {
	// URL is that of the servers, several separated by commas; empty for the server inside of pawl.
	URL string
	// Creds is the file with the credentials of the engines' account, empty where the URL has them. SysCreds is that of
	// the servers' system account, empty for none.
	Creds, SysCreds string
	// Node is the name of this engine among those that share the log.
	Node string
	// Nodes: the servers are those of nodes, which sync their writes as the nodes are configured.
	Nodes bool
}

// Cluster is the cluster that the server inside of pawl forms with those of other nodes. The zero value is for a server
// that is alone.
type Cluster struct {
	// Name is the same on all nodes. That of the node is Servers.Node.
	Name string
	// Listen is the address for the other nodes, Advertise the one that they are given instead; empty for the same.
	Listen, Advertise string
	// Routes are the addresses of all nodes.
	Routes []string
	// TLSCert, TLSKey and TLSCA are the files of the TLS between the nodes; empty for none.
	TLSCert, TLSKey, TLSCA string
}

// On reports whether the server inside is a node of a cluster.
func (c Cluster) On() bool { return c.Name != "" }

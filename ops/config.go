package ops

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/metrics"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Config of a Server. Engine, Reader, Log and Connectors are required.
type Config struct {
	Engine *engine.Engine
	// Reader answers lists and views; its Flush is the engine's.
	Reader *readmodel.Reader
	Log    eventlog.Log
	// Secrets are used to verify the requests of hooks.
	Secrets secret.Set
	// Connectors says which operations there are now.
	Connectors deploy.Catalog
	// Refused looks for services, and returns those that are not offered to scripts, with the reasons; nil
	// means that services are not looked for.
	Refused func(context.Context) []RefusedService
	// Tools lists the tools that have a user of their own on NATS; nil means that there are none.
	Tools func() []ToolUser
	// Calls performs the calls of operation callConnector; without it that operation can call nothing.
	Calls Calls
	// RunLog is read for a run's log and evidence; nil means that this engine keeps no run log.
	RunLog RunLog
	// Progress counts what Engine records; it must observe each transition (engine.Config.Observe). Nil means that
	// nothing is counted.
	Progress *metrics.Progress
	// Feed are the figures of the feed; nil where nothing is published.
	Feed prometheus.Collector
	// Subscriptions deliver webhooks; nil where none are configured.
	Subscriptions *subscription.Deliveries
	// Traces are the figures of traces; nil where none are made. Where they are, requests that bring events in may name
	// the trace of their sender.
	Traces prometheus.Collector
	// Workers reports on the processes that run scripts; nil means that there are none.
	Workers func() worker.Report
	// Version of this program, as `pawl version` prints it.
	Version string
	// Installation names the log this engine belongs to.
	Installation string
	// Copies asks the servers of a shared log about its copies; nil where the engine is alone.
	Copies func(context.Context) (doctor.Copies, error)
	// Doctor looks at the installation; nil means that this engine cannot look at it.
	Doctor func(context.Context, *doctor.HealthReport)
	// Source says which installation a backup was made of; nil means that no backup can be made.
	Source func() backup.Source
	// Token is asked of every caller over HTTP, except for health. It opens everything, and has no name of its own:
	// transitions carry the name that the caller claims. Required unless NoAuth, and never shown.
	Token string
	// NoAuth lets every caller in without a token. Serve refuses it beyond loopback.
	NoAuth bool
	// Links keeps the one-time links to the console, so that engines that share a log accept the links of one another;
	// nil means that this engine accepts only its own links, and keeps them in memory.
	Links auth.LinkBucket
	// Address is the URL that commands find beside the Token, once this engine serves it: the proof that this engine
	// knows the Token holds for that URL alone.
	Address func() string
	// PublicURL is another address under which this engine is reached, such as https://pawl.example.com when TLS ends
	// before it: requests for its host are answered too. Empty for none.
	PublicURL string
	// TLS, when set, is used by Serve. CheckListen says when it is needed.
	TLS *tls.Config
	// Now is the engine's clock; time.Now when nil.
	Now func() time.Time
	// Timeout bounds an operation that records or looks something up, also the wait for a starting
	// engine; 0 means 10 s. When it ends first the answer is 503.
	Timeout time.Duration
	// ShutdownTimeout is how long Serve waits for open requests; 0 means 10 s.
	ShutdownTimeout time.Duration
	// HistoryTimeout bounds an operation that rebuilds a past state; 0 means a minute.
	HistoryTimeout time.Duration
	// HistoryBytes bounds it too: the bytes of the log that a past state is made of; 0 means 128 MiB.
	HistoryBytes int64
	// PastDir is the folder in which folds of the past keep finished states; empty for memory.
	PastDir string
	// MaxConnections bounds the open connections of Serve; 0 means 1024.
	MaxConnections int
	// KeepAlive is the time between comments on a silent log stream, and how long a request over NATS
	// waits for the log to go on; 0 means 15 s.
	KeepAlive time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if c.Engine == nil || c.Reader == nil || c.Reader.Store == nil || c.Log == nil || c.Connectors == nil {
		return errors.New("ops: Engine, Reader, Log and Connectors are required")
	}
	if c.Token == "" && !c.NoAuth {
		return errors.New("ops: a Token is required, unless NoAuth says that none is wanted")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 10 * time.Second
	}
	if c.HistoryTimeout == 0 {
		c.HistoryTimeout = time.Minute
	}
	if c.HistoryBytes == 0 {
		c.HistoryBytes = 128 << 20
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = auth.DefaultConnections
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 15 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// RunLog keeps what runs have written; *runlog.Stream is one.
type RunLog interface {
	Read(ctx context.Context, workflow eventlog.WorkflowName, run eventlog.RunID) ([]runlog.Line, error)
}

// Calls performs single calls for a person, and knows which calls wait for their turn; *connector.Registry is one.
type Calls interface {
	Read(context.Context, connector.Call) (json.RawMessage, error)
	Perform(context.Context, connector.Call) connector.Outcome
	Waiting(eventlog.WorkflowName) []connector.Waiting
}

// ToolUser is the user on NATS that serves one connector and no other.
type ToolUser struct {
	Connector   string `json:"connector"`
	Connections int    `json:"connections" jsonschema:"how many of its instances are connected"`
}

// RefusedService says why a service, or one of its endpoints, is not a connector.
type RefusedService struct {
	Service  string  `json:"service"`
	Endpoint *string `json:"endpoint" jsonschema:"null when the whole service is refused"`
	Reason   string  `json:"reason"`
}

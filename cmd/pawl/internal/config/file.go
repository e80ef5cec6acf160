package config

import (
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/engine/connector/mcpcall"
	"github.com/pawl-run/pawl/engine/connector/openapi"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/engine/secret"
)

// FileName is the configuration file that is read where none is named.
const FileName = "pawl.yaml"

// File is the configuration file. Every flag marked `setting` has its key here under the same name. The other keys hold
// settings that are too large for flags.
type File struct {
	Data       string         `yaml:"data"`
	HTTP       string         `yaml:"http"`
	Sync       string         `yaml:"sync"`
	TLSCert    string         `yaml:"tls-cert"`
	TLSKey     string         `yaml:"tls-key"`
	Plaintext  *bool          `yaml:"plaintext"`
	NoAuth     *bool          `yaml:"no-auth"`
	PublicURL  string         `yaml:"public-url"`
	Insecure   *bool          `yaml:"insecure"`
	Sandbox    string         `yaml:"require-sandbox"`
	Clock      string         `yaml:"clock"`
	NATSListen string         `yaml:"nats-listen"`
	Hooks      string         `yaml:"hooks-listen"`
	Feed       *bool          `yaml:"feed"`
	FeedSize   *schedule.Size `yaml:"feed-bytes"`
	Traces     string         `yaml:"traces"`
	Sample     *float64       `yaml:"traces-sample"`
	UntilIdle  *bool          `yaml:"until-idle"`
	URL        string         `yaml:"url"`
	NATS       string         `yaml:"nats"`
	Servers    string         `yaml:"servers"`
	Creds      string         `yaml:"creds"`
	SysCreds   string         `yaml:"nats-sys-creds"`
	Node       string         `yaml:"node"`
	As         string         `yaml:"as"`
	Cluster    string         `yaml:"cluster"`
	Routes     string         `yaml:"routes"`
	Maildir    string         `yaml:"maildir"`
	Files      string         `yaml:"files"`
	CSV        string         `yaml:"csv"`

	ClusterListen    string `yaml:"cluster-listen"`
	ClusterAdvertise string `yaml:"cluster-advertise"`
	ClusterTLSCert   string `yaml:"cluster-tls-cert"`
	ClusterTLSKey    string `yaml:"cluster-tls-key"`
	ClusterTLSCA     string `yaml:"cluster-tls-ca"`

	ClockStart string            `yaml:"clock-start"`
	Connectors Connectors        `yaml:"connectors"`
	Policies   schedule.Policies `yaml:"policies"`
	Secrets    secrets           `yaml:"secrets"`
	Vars       vars              `yaml:"vars"`
	// Recordings are the workflows whose runs are recorded.
	Recordings recordings `yaml:"recordings"`
	// Subscriptions are the receivers of facts of the feed.
	Subscriptions subscriptions `yaml:"subscriptions"`
	// Alerts are the receivers of alerts.
	Alerts alerts `yaml:"alerts"`
	// Profiles are named groups of settings. Those of the chosen profile replace those of the rest of the file.
	Profiles map[string]File `yaml:"profiles"`

	// Values are the secrets with the values that Expand has read.
	Values secret.Set
	// Outgoing and Alerting are the subscriptions and the alerts with the secrets that Expand has read.
	Outgoing []Subscription
	Alerting []Alert

	Path, dir string
	text      *configText // nil without a file
}

// Connectors configure the compiled-in connectors; a nil field means that there is no such connector.
type Connectors struct {
	Maildir *Root            `yaml:"maildir"`
	Files   *Root            `yaml:"files"`
	CSV     *Root            `yaml:"csv"`
	HTTP    *httpcall.Config `yaml:"http"`
	SMTP    *smtp.Config     `yaml:"smtp"`
	IMAP    *imap.Config     `yaml:"imap"`
	SQL     *sqlcall.Config  `yaml:"sql"`
	// MCP are MCP servers, each a connector of its name.
	MCP map[string]mcpcall.Config `yaml:"mcp"`
	// OpenAPI are services with descriptions, each a connector of its name.
	OpenAPI map[string]openapi.Config `yaml:"openapi"`
}

// Root configure a connector that lives in one folder.
type Root struct {
	Root string `yaml:"root"`
	// Timeout bounds one call; 0 is the connector's own default.
	Timeout time.Duration `yaml:"timeout"`
}

func (Connectors) setRoot(to **Root, root string) {
	if root == "" {
		return
	}
	settings := Root{Root: root}
	if *to != nil {
		settings.Timeout = (*to).Timeout // a flag replaces the folder and nothing else
	}
	*to = &settings
}

// SecretNames are the names of the configured secrets, sorted.
func (c *File) SecretNames() []string { return slices.Sorted(maps.Keys(c.Secrets)) }

// Known are the settings by which calls can be judged without an engine, as the file has them. MCP servers are left
// out: what they offer is known only where they run. Secrets that calls may name have other values here.
func (c *File) Known() (Connectors, error) {
	known := c.Connectors
	known.MCP, known.OpenAPI = nil, c.Described()
	if known.HTTP != nil {
		http := *known.HTTP
		named, err := c.Secrets.withoutValues()
		if err != nil {
			return known, err
		}
		http.Named, known.HTTP = named, &http
	}
	return known, nil
}

// Described are the connectors of OpenAPI descriptions, only to be asked what they offer: without secrets.
func (c *File) Described() map[string]openapi.Config {
	described := make(map[string]openapi.Config, len(c.Connectors.OpenAPI))
	for name, settings := range c.Connectors.OpenAPI {
		settings.Offline = true
		resolve(&settings.Description, c.dir)
		described[name] = settings
	}
	return described
}

// MCPServers are the names of the MCP servers, sorted. What they offer is known only where they run.
func (c *File) MCPServers() []string { return slices.Sorted(maps.Keys(c.Connectors.MCP)) }

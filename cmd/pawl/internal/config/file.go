package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
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

// LoadFile reads one configuration file, with the profile in it that is named, if any. What the file does not set has
// its default. A missing file is an error only where it or the profile was named. The error names the file, the line
// and what is wanted there.
func LoadFile(path string, named bool, profile string) (File, error) {
	c := File{Policies: schedule.Default()}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return c, nil
	case err != nil:
		return c, exit.Misconfigured("correct --config or PAWL_CONFIG", "read configuration: %v", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	c.Path = path
	written, empty, err := readText(path, text, reflect.TypeFor[File]())
	switch {
	case err != nil:
		return c, err
	case empty && profile == "":
		return c, nil
	}
	if profile != "" {
		if text, err = withProfile(text, profile, written); err != nil {
			return c, err
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return c, exit.Misconfigured("cmd/pawl/CONFIG.md lists the keys", "%s", configFault(path, err))
	}
	c.text = written
	if err := c.validate(written); err != nil {
		return c, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return c, exit.Failed("start pawl in a folder that exists, or give --config an absolute path",
			fmt.Errorf("find the folder of the configuration file: %w", err))
	}
	c.dir = dir
	for _, path := range []*string{&c.Data, &c.TLSCert, &c.TLSKey, &c.Maildir, &c.Files, &c.CSV, &c.ClusterTLSCert,
		&c.ClusterTLSKey, &c.ClusterTLSCA} {
		resolve(path, dir)
	}
	return c, nil
}

// resolve makes a path of the file relative to the file.
func resolve(path *string, dir string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

// Expand puts in the secrets that the connectors' settings refer to. Only a process that runs connectors does so:
// other commands must not need an engine's secrets. The error names the setting whose secret cannot be read.
func (c *File) Expand(env func(string) (string, bool)) error {
	var found []string
	secrets := connector.Secrets{Dir: c.dir, LookupEnv: env, Found: func(value string) { found = append(found, value) }}
	if err := secrets.ExpandAll(&c.Connectors); err != nil {
		at := c.Path
		var wrong *connector.SettingError
		if errors.As(err, &wrong) {
			at = c.text.place("connectors." + wrong.Key)
		}
		return exit.Misconfigured(giveValue, "%s: connectors.%v", at, err)
	}
	values, err := c.Secrets.expand(secrets, c.text)
	if err != nil {
		return err
	}
	c.Values = values
	if c.Outgoing, err = c.Subscriptions.expand(secrets, values, c.text); err != nil {
		return err
	}
	if c.Alerting, err = c.Alerts.expand(secrets, values, c.text); err != nil {
		return err
	}
	if http := c.Connectors.HTTP; http != nil {
		http.Named, http.Secrets = c.Values, found
	}
	if smtp := c.Connectors.SMTP; smtp != nil {
		smtp.Secrets = found
	}
	if imap := c.Connectors.IMAP; imap != nil {
		imap.Secrets = found
	}
	if sql := c.Connectors.SQL; sql != nil {
		sql.Secrets = found
		for name, database := range sql.Databases {
			resolve(&database.File, c.dir)
			sql.Databases[name] = database
		}
	}
	for name, server := range c.Connectors.MCP {
		server.Secrets = found
		c.Connectors.MCP[name] = server
		for _, paths := range [][]string{server.Read, server.Write} {
			for i := range paths {
				resolve(&paths[i], c.dir)
			}
		}
	}
	for name, described := range c.Connectors.OpenAPI {
		described.Secrets = found
		resolve(&described.Description, c.dir)
		c.Connectors.OpenAPI[name] = described
	}
	for _, root := range []*Root{c.Connectors.Maildir, c.Connectors.Files, c.Connectors.CSV} {
		if root != nil {
			resolve(&root.Root, c.dir)
		}
	}
	return nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/schedule"
)

const configName = "pawl.yaml"

// config is the configuration file. Every flag marked `setting` has its key here under the same
// name; what the flags have no room for stands under connectors and policies.
type config struct {
	Data       string `yaml:"data"`
	HTTP       string `yaml:"http"`
	Sync       string `yaml:"sync"`
	TLSCert    string `yaml:"tls-cert"`
	TLSKey     string `yaml:"tls-key"`
	Insecure   *bool  `yaml:"insecure"`
	Sandbox    string `yaml:"require-sandbox"`
	Clock      string `yaml:"clock"`
	NATSListen string `yaml:"nats-listen"`
	UntilIdle  *bool  `yaml:"until-idle"`
	URL        string `yaml:"url"`
	As         string `yaml:"as"`
	Maildir    string `yaml:"maildir"`
	Files      string `yaml:"files"`
	CSV        string `yaml:"csv"`

	ClockStart string            `yaml:"clock-start"`
	Connectors connectorSettings `yaml:"connectors"`
	Policies   schedule.Policies `yaml:"policies"`

	path, dir string
}

// connectorSettings configure the compiled-in connectors; nil means not there.
type connectorSettings struct {
	Maildir *rootSettings    `yaml:"maildir"`
	Files   *rootSettings    `yaml:"files"`
	CSV     *rootSettings    `yaml:"csv"`
	HTTP    *httpcall.Config `yaml:"http"`
}

// rootSettings configure a connector that lives in one folder.
type rootSettings struct {
	Root string `yaml:"root"`
	// Timeout bounds one call; 0 is the connector's own default.
	Timeout time.Duration `yaml:"timeout"`
}

func (connectorSettings) setRoot(to **rootSettings, root string) {
	if root == "" {
		return
	}
	settings := rootSettings{Root: root}
	if *to != nil {
		settings.Timeout = (*to).Timeout // a flag moves the folder and nothing else
	}
	*to = &settings
}

// readConfig finds and reads the configuration file: --config, else here, else in the data directory.
func (a *app) readConfig() (config, error) {
	if a.common.Config != "" {
		return a.loadConfig(a.common.Config, true)
	}
	c, err := a.loadConfig(configName, false)
	if err != nil || c.path != "" {
		return c, err
	}
	data := first(a.common.Data, a.data, defaultData)
	c, err = a.loadConfig(filepath.Join(data, configName), false)
	if err == nil && c.Data != "" {
		return c, misconfigured("move the file to where pawl is started, or take the key out",
			"%s: data cannot be set by a file that lies in the data directory", c.path)
	}
	return c, err
}

// loadConfig reads one file over the defaults. A missing file is the defaults, unless it was named.
func (a *app) loadConfig(path string, named bool) (config, error) {
	c := config{Policies: schedule.Default()}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return c, nil
	case err != nil:
		return c, misconfigured("correct --config or PAWL_CONFIG", "read configuration: %v", err)
	}
	c.path = path
	switch err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&c); {
	case errors.Is(err, io.EOF): // a file without a key, which empties what it is decoded into
		return config{Policies: schedule.Default(), path: path}, nil
	case err != nil:
		return c, misconfigured("the README lists the keys", "%s", configFault(path, err))
	}
	if err := c.validate(); err != nil {
		return c, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return c, failed("", err)
	}
	c.dir = dir
	for _, path := range []*string{&c.Data, &c.TLSCert, &c.TLSKey, &c.Maildir, &c.Files, &c.CSV} {
		resolve(path, dir)
	}
	return c, nil
}

// expand puts in the secrets that the connectors' settings refer to. Only who runs connectors does:
// other commands must not need an engine's secrets.
func (c *config) expand(env func(string) (string, bool)) error {
	secrets := connector.Secrets{Dir: c.dir, LookupEnv: env}
	if err := secrets.ExpandAll(&c.Connectors); err != nil {
		return misconfigured("", "%s: connectors.%v", c.path, err)
	}
	for _, root := range []*rootSettings{c.Connectors.Maildir, c.Connectors.Files, c.Connectors.CSV} {
		if root != nil {
			resolve(&root.Root, c.dir)
		}
	}
	return nil
}

// configFault names the place of a mistake as file:line:column.
func configFault(path string, err error) string {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return fmt.Sprintf("%s: %v", path, err)
	}
	message := located.GetMessage()
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		message = fmt.Sprintf("there is no key %q here", located.GetToken().Value)
	}
	at := located.GetToken().Position
	return fmt.Sprintf("%s:%d:%d: %s", path, at.Line, at.Column, message)
}

func (c *config) validate() error {
	if err := c.Policies.Validate(); err != nil {
		return misconfigured("", "%s: %v", c.path, err)
	}
	for _, twice := range []struct {
		key, short string
		long       *rootSettings
	}{{"maildir", c.Maildir, c.Connectors.Maildir}, {"files", c.Files, c.Connectors.Files}, {"csv", c.CSV, c.Connectors.CSV}} {
		if twice.short != "" && twice.long != nil {
			return misconfigured("keep one of them", "%s: both %s and connectors.%s.root are set", c.path, twice.key, twice.key)
		}
	}
	return nil
}

// resolve makes a path of the file relative to the file.
func resolve(path *string, dir string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

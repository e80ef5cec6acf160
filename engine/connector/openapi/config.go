package openapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
)

// Config is one description and the service that it describes.
type Config struct {
	// Description is the path of the file, YAML or JSON, OpenAPI 3.
	Description string `yaml:"description"`
	// URL is where the service is; the paths of the description are below it.
	URL string `yaml:"url"`
	// Host is what holds for its host, as for one of the http connector.
	Host httpcall.HostConfig `yaml:"host"`

	// Offline says that nothing is called: the connector only says what it offers and what it refuses. The secrets in
	// Host are not used then.
	Offline bool `yaml:"-"`

	// Name is the connector's.
	Name string `yaml:"-"`
	// Secrets are blanked out of everything that comes back.
	Secrets []string `yaml:"-"`
	// Logger is told which operations are left out; slog.Default() when nil.
	Logger *slog.Logger `yaml:"-"`
}

// Validate says what is wrong with the settings of the connector with the name.
func (c Config) Validate(name string) error {
	key := "connectors.openapi." + name
	fault := func(at string, err error) error {
		return &connector.SettingError{Key: key + at, Err: fmt.Errorf("%s%s: %w", key, at, err)}
	}
	if err := connector.ValidateName(name); err != nil {
		return fault("", err)
	}
	if c.Description == "" {
		return fault(".description", errors.New("it names no file"))
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fault(".url", errors.New("write e.g. https://api.example.com/v1"))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fault(".url", errors.New("it is a scheme, a host and a path; what names the caller stands in host.headers"))
	}
	return nil
}

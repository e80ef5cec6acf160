package mcpcall

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/loopback"
)

// Config is one MCP server.
type Config struct {
	// Command is the program and its arguments; URL is in its place where the server is reached over streamable HTTP.
	Command []string `yaml:"command"`
	// URL is where the server is, https beyond this machine. It is asked there and nowhere else.
	URL string `yaml:"url"`
	// Headers are sent with every request to URL, such as Authorization. Scripts cannot set or see them.
	Headers map[string]string `yaml:"headers"`
	// Dir is where it runs. Where it is empty, the process has a folder of its own, which is removed when it ends.
	Dir string `yaml:"dir"`
	// Env is its environment, besides PATH.
	Env map[string]string `yaml:"env"`
	// Read are folders that it may read, besides those of the system, and Write those that it may change.
	Read  []string `yaml:"read"`
	Write []string `yaml:"write"`
	// Network lets it make connections.
	Network bool `yaml:"network"`
	// Timeout bounds one call; 0 is the default of all connectors.
	Timeout time.Duration `yaml:"timeout"`
	// Tools say more about single tools, by their names.
	Tools map[string]ToolConfig `yaml:"tools"`

	// Secrets are the values that were filled in from outside the configuration. They are blanked out of what the server
	// answers.
	Secrets []string `yaml:"-"`
	// Name is the connector's.
	Name string `yaml:"-"`
	// Confined makes the process that confines itself to what is named here and becomes the command; nil runs the
	// command as it is.
	Confined func(Config) (*exec.Cmd, error) `yaml:"-"`
	// Logger is told why the server or one of its tools is not offered; slog.Default() when nil.
	Logger *slog.Logger `yaml:"-"`
}

// ToolConfig is what the operator knows better than the server.
type ToolConfig struct {
	// Kind is list, get or mutate, whatever the server says.
	Kind connector.Kind `yaml:"kind"`
	// ErrorMeansFailed is the operator's promise that nothing was changed where the tool answers an error.
	ErrorMeansFailed bool `yaml:"errorMeansFailed"`
	// Verify asks what became of a call.
	Verify *Verify `yaml:"verify"`
}

// Verify is the tool that knows what became of a call, and what its answers mean. Texts in it may hold {name}, which is
// the parameter of the call, and {idempotencyKey}.
type Verify struct {
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"arguments"`
	Applied   Match          `yaml:"applied"`
	Failed    Match          `yaml:"failed"`
}

// Match says which answer is meant. An empty Match fits none.
type Match struct {
	// Error wants an error of the tool.
	Error bool `yaml:"error"`
	// Result are the values that the result must have, by their paths with dots.
	Result map[string]any `yaml:"result"`
}

func (m Match) empty() bool { return !m.Error && len(m.Result) == 0 }

// Validate says what is wrong with the settings of the server with the name.
func (c Config) Validate(name string) error {
	key := "connectors.mcp." + name
	fault := func(at, format string, args ...any) error {
		return &connector.SettingError{Key: key + at, Err: fmt.Errorf(key+at+": "+format, args...)}
	}
	if err := connector.ValidateName(name); err != nil {
		return fault("", "%w", err)
	}
	switch {
	case c.URL != "":
		if at, err := c.validateURL(); err != nil {
			return fault(at, "%w", err)
		}
	case len(c.Headers) > 0:
		return fault(".headers", "a program is sent none: env is its environment")
	case len(c.Command) == 0 || c.Command[0] == "":
		return fault(".command", "it names no program, and there is no url")
	}
	if c.Timeout < 0 {
		return fault(".timeout", "%s is negative", c.Timeout)
	}
	for _, tool := range slices.Sorted(maps.Keys(c.Tools)) {
		of := c.Tools[tool]
		switch of.Kind {
		case "", connector.List, connector.Get, connector.Mutate:
		default:
			return fault(".tools."+tool+".kind", "%q is none of list, get and mutate", of.Kind)
		}
		if v := of.Verify; v != nil {
			if err := v.validate(of.Kind); err != nil {
				return fault(".tools."+tool+".verify", "%w", err)
			}
		}
	}
	return nil
}

// validateURL says what is wrong with the server's address or its headers, and at which key.
func (c Config) validateURL() (key string, err error) {
	if len(c.Command) > 0 {
		return ".url", errors.New("there is a command too: a server is a program or at an address")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ".url", errors.New("it is no URL")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return ".url", errors.New("write e.g. https://mcp.example.com/mcp")
	case u.User != nil:
		return ".url", errors.New("it holds a password: write headers: {Authorization: …}")
	case u.Scheme == "http" && !loopback.Host(u.Hostname()):
		return ".url", errors.New("beyond this machine it must be https")
	}
	for name, value := range c.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return ".headers." + name, errors.New("this is no header of HTTP")
		}
	}
	return "", nil
}

func (v *Verify) validate(kind connector.Kind) error {
	switch {
	case kind == connector.List || kind == connector.Get:
		return errors.New("a read needs none")
	case v.Tool == "":
		return errors.New("it names no tool")
	case v.Applied.empty():
		return errors.New("applied is missing: it says which answer shows that the call took effect")
	}
	return nil
}

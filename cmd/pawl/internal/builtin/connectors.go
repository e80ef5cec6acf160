package builtin

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/typings"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/engine/connector/files"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/engine/connector/openapi"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
)

// compiledIn is a connector that this program has.
type compiledIn struct {
	// advice says how it is configured.
	advice string
	// open makes it, nil where it is not configured.
	open func(config.Connectors, process) (closing, error)
	// pretend configures a connector that is not configured, only to learn what it offers and what it refuses. It
	// reaches nothing, and refuses no host and no folder, since the real settings are unknown.
	pretend func(*config.Connectors)
}

type closing interface {
	connector.Connector
	Close() error
}

// process is what connectors need of this process besides their settings.
type process struct {
	parser func() *exec.Cmd // makes the process that parses mails
	places int              // how many calls may do their work in this process at once, 0 for no bound
	logger *slog.Logger
}

// builtins are the connectors of this program, by name. A new one is an entry here, and a field of config.Connectors.
var builtins = map[string]compiledIn{
	"maildir": {
		advice: "give it a folder: --maildir DIR, or connectors.maildir.root in pawl.yaml",
		open: func(c config.Connectors, p process) (closing, error) {
			return openWith(c.Maildir, func(r config.Root) (*maildir.Connector, error) {
				return maildir.New(maildir.Config{Root: r.Root, Timeout: r.Timeout, Parser: p.parser, Logger: p.logger})
			})
		},
		pretend: func(c *config.Connectors) { c.Maildir = nowhere() },
	},
	"files": {
		advice: "give it a folder: --files DIR, or connectors.files.root in pawl.yaml",
		open: func(c config.Connectors, _ process) (closing, error) {
			return openWith(c.Files, func(r config.Root) (*files.Connector, error) {
				return files.New(files.Config{Root: r.Root, Timeout: r.Timeout})
			})
		},
		pretend: func(c *config.Connectors) { c.Files = nowhere() },
	},
	"csv": {
		advice: "give it a folder: --csv DIR, or connectors.csv.root in pawl.yaml",
		open: func(c config.Connectors, p process) (closing, error) {
			return openWith(c.CSV, func(r config.Root) (*csv.Connector, error) {
				return csv.New(csv.Config{Root: r.Root, Timeout: r.Timeout, Places: p.places})
			})
		},
		pretend: func(c *config.Connectors) { c.CSV = nowhere() },
	},
	"http": {
		advice: "name the hosts it may call: connectors.http.hosts in pawl.yaml",
		open:   func(c config.Connectors, _ process) (closing, error) { return openWith(c.HTTP, httpcall.New) },
		pretend: func(c *config.Connectors) {
			settings := httpcall.Config{Hosts: map[string]httpcall.HostConfig{"localhost": {}}, HostsUnknown: true}
			if c.HTTP != nil {
				settings = httpcall.Config{Hosts: map[string]httpcall.HostConfig{}, Named: c.HTTP.Named}
				for name, host := range c.HTTP.Hosts {
					settings.Hosts[name] = host.WithoutSecrets()
				}
			}
			c.HTTP = &settings
		},
	},
	"smtp": {
		advice: "name the mail server and the senders: connectors.smtp.server and from in pawl.yaml",
		open:   func(c config.Connectors, _ process) (closing, error) { return openWith(c.SMTP, smtp.New) },
		pretend: func(c *config.Connectors) {
			settings := smtp.Config{Server: "localhost:25", From: []string{"pawl@localhost"}, SendersUnknown: true}
			if c.SMTP != nil && !strings.Contains(strings.Join(c.SMTP.From, ""), "${") {
				settings.From, settings.SendersUnknown = c.SMTP.From, false
			}
			c.SMTP = &settings
		},
	},
	"imap": {
		advice: "name the mail server and the user: connectors.imap.server, username and password in pawl.yaml",
		open: func(c config.Connectors, p process) (closing, error) {
			return openWith(c.IMAP, func(settings imap.Config) (*imap.Connector, error) {
				settings.Parser, settings.Logger = p.parser, p.logger
				return imap.New(settings)
			})
		},
		pretend: func(c *config.Connectors) {
			c.IMAP = &imap.Config{Server: "localhost:143", Username: "pawl", Password: "none"}
		},
	},
	"sql": {
		advice: "name the databases: connectors.sql.databases in pawl.yaml",
		open: func(c config.Connectors, p process) (closing, error) {
			return openWith(c.SQL, func(settings sqlcall.Config) (*sqlcall.Connector, error) {
				settings.Places = p.places
				return sqlcall.New(settings)
			})
		},
		pretend: func(c *config.Connectors) {
			none := sqlcall.DatabaseConfig{File: filepath.Join(os.TempDir(), "none.db")}
			settings := sqlcall.Config{Databases: map[string]sqlcall.DatabaseConfig{"none": none}, DatabasesUnknown: true}
			if c.SQL != nil {
				settings = sqlcall.Config{Databases: map[string]sqlcall.DatabaseConfig{}}
				for name := range c.SQL.Databases {
					settings.Databases[name] = none
				}
			}
			c.SQL = &settings
		},
	},
}

// openWith makes a connector by its settings, nil without any.
func openWith[S any, C closing](settings *S, open func(S) (C, error)) (closing, error) {
	if settings == nil {
		return nil, nil
	}
	made, err := open(*settings)
	if err != nil {
		return nil, err
	}
	return made, nil
}

func nowhere() *config.Root { return &config.Root{Root: os.TempDir()} }

// Advice says how the connector of this program is configured; ours is false for a name that this program has not.
func Advice(name string) (advice string, ours bool) {
	b, ours := builtins[name]
	return b.advice, ours
}

// Open makes the compiled-in connectors that are configured. onClose is called with the functions that close them;
// parser makes the process that parses mails, nil is this program again; places is how many calls may work in this
// process at once, 0 for no bound.
func Open(
	c config.Connectors, places int, parser func() *exec.Cmd, logger *slog.Logger, onClose func(func() error),
) (*connector.Registry, error) {
	if parser == nil {
		parser = mailParser
	}
	var list []connector.Connector
	advice := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(builtins)) {
		made, err := builtins[name].open(c, process{parser, places, logger})
		switch {
		case err != nil:
			return nil, err
		case made == nil:
			advice[name] = builtins[name].advice
		default:
			list = append(list, made)
			onClose(made.Close)
		}
	}
	servers, err := openServers(c.MCP, logger, onClose)
	if err != nil {
		return nil, err
	}
	described, err := openDescribed(c.OpenAPI, logger, onClose)
	if err != nil {
		return nil, err
	}
	registry, err := connector.NewRegistry(slices.Concat(list, servers, described)...)
	if err != nil {
		return nil, err
	}
	registry.Advise(advice)
	return registry, nil
}

// Alone makes the connectors that are known without an engine: all compiled-in ones, and those of the OpenAPI
// descriptions. They are only asked what they offer and what they refuse; nothing is called. As in an engine, a
// description may not have the name of another connector.
func Alone(known config.Connectors) (*connector.Registry, func() error, error) {
	all := known
	for name, b := range builtins {
		if _, taken := known.OpenAPI[name]; !taken {
			b.pretend(&all)
		}
	}
	var closers []func() error
	registry, err := Open(all, 0, nil, slog.New(slog.DiscardHandler),
		func(end func() error) { closers = append(closers, end) })
	return registry, func() error {
		var errs []error
		for _, end := range slices.Backward(closers) {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}, err
}

// Typed describes all compiled-in connectors for the authors of scripts, whether they are configured or not, and those
// of the descriptions.
func Typed(described map[string]openapi.Config) ([]typings.Connector, error) {
	registry, done, err := Alone(config.Connectors{OpenAPI: described})
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return typings.Of(registry), done()
}

// Declare makes the declarations for the connectors that an engine knows, all that are compiled in, and those of the
// descriptions.
func Declare(known []typings.Connector, described map[string]openapi.Config) (string, error) {
	own, err := Typed(described)
	if err != nil {
		return "", err
	}
	all := slices.Clone(known)
	for _, connector := range own {
		if !slices.ContainsFunc(known, func(k typings.Connector) bool { return k.Name == connector.Name }) {
			all = append(all, connector)
		}
	}
	slices.SortFunc(all, func(a, b typings.Connector) int { return strings.Compare(a.Name, b.Name) })
	return typings.Declare(all), nil
}

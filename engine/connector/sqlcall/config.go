package sqlcall

import (
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
)

// Config of the sql connector. Secrets in it have been expanded already.
type Config struct {
	// Databases are those that scripts may use, by the names that scripts call them.
	Databases map[string]DatabaseConfig `yaml:"databases"`
	// DatabasesUnknown says that Databases are not the engine's: a check without an engine does not know those, and
	// refuses none.
	DatabasesUnknown bool `yaml:"-"`
	// Secrets are the values that were filled in from outside the configuration, wherever they stand in it. They are
	// blanked out of all that comes back, as passwords are.
	Secrets []string `yaml:"-"`
	// Places is how many calls may work in files of SQLite at once; 0 sets no bound. The engine's own process does that
	// work, so other workflows would wait for the processor.
	Places int `yaml:"-"`
}

// DatabaseConfig is what holds for one database: a PostgreSQL server's by its URL, or a file of SQLite.
type DatabaseConfig struct {
	// URL is the address of a database of PostgreSQL, postgres://USER@HOST:PORT/DATABASE.
	URL string `yaml:"url"`
	// Password is that of the user in URL, where it does not stand there.
	Password string `yaml:"password"`
	// File is the path of a database of SQLite.
	File string `yaml:"file"`
	// Timeout bounds one call; 0 means connector.DefaultTimeout.
	Timeout time.Duration `yaml:"timeout"`
	// Rows is the most rows that one call may return; 0 means 10,000.
	Rows int `yaml:"rows"`
	// Table is the table in which Pawl notes the calls that change the database, for PostgreSQL also with a schema
	// before it; empty means pawl_calls.
	Table string `yaml:"table"`
	// Connections is how many calls may be under way at the database at once; 0 means 10.
	Connections int `yaml:"connections"`
}

const (
	defaultRows        = 10_000
	defaultTable       = "pawl_calls"
	defaultConnections = 10
	// maxRows and maxConnections bound what can be configured: results have to fit into memory, and connections into
	// a server.
	maxRows        = 1_000_000
	maxConnections = 1000
)

const databasesKey = "connectors.sql.databases"

// databaseName is a name as a grant may write it behind the @.
var databaseName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
})

// tableName is the name of a table that reads the same with and without quotation marks.
var tableName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,62}$`)
})

// wrong is a mistake in the setting of a database. It never repeats the value of a URL or password.
func wrong(name, key, format string, args ...any) error {
	path := databasesKey + "." + name
	if key != "" {
		path += "." + key
	}
	return &connector.SettingError{Key: path, Err: fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...))}
}

package sqlcall

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
)

// Config of the sql connector. Secrets in it have been expanded already.
type Config struct {
	// Databases are those that scripts may use, by the names that scripts call them.
	Databases map[string]DatabaseConfig `yaml:"databases"`
	// Secrets are the values that were filled in from outside the configuration, wherever they stand in it. They are
	// blanked out of all that comes back, as passwords are.
	Secrets []string `yaml:"-"`
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
var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// tableName is the name of a table that reads the same with and without quotation marks.
var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,62}$`)

// wrong is a mistake in the setting of a database. It never repeats the value of a URL or password.
func wrong(name, key, format string, args ...any) error {
	path := databasesKey + "." + name
	if key != "" {
		path += "." + key
	}
	return &connector.SettingError{Key: path, Err: fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...))}
}

// newDatabases checks the settings and makes what they describe; nothing is connected to yet.
func newDatabases(configured map[string]DatabaseConfig) (databases map[string]*database, secrets []string, err error) {
	if len(configured) == 0 {
		return nil, nil, &connector.SettingError{Key: databasesKey, Err: errors.New(databasesKey +
			" is missing: name the databases that may be used, e.g. databases: {shop: {file: shop.db}}")}
	}
	databases = make(map[string]*database, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		db, hidden, err := newDatabase(name, configured[name])
		if err != nil {
			return nil, nil, err
		}
		databases[name] = db
		secrets = append(secrets, hidden...)
	}
	return databases, secrets, nil
}

func newDatabase(name string, config DatabaseConfig) (*database, []string, error) {
	switch {
	case !databaseName.MatchString(name):
		return nil, nil, wrong(name, "", "the name of a database has lower-case letters, digits, _ and -, begins with a "+
			"letter, and has at most 63 characters")
	case config.URL == "" && config.File == "":
		return nil, nil, wrong(name, "", "it has neither a url (PostgreSQL) nor a file (SQLite)")
	case config.URL != "" && config.File != "":
		return nil, nil, wrong(name, "", "it has a url and a file: keep one of them")
	case config.Timeout < 0:
		return nil, nil, wrong(name, "timeout", "%s is negative", config.Timeout)
	case config.Rows < 0 || config.Rows > maxRows:
		return nil, nil, wrong(name, "rows", "want a number from 1 to %d, not %d", maxRows, config.Rows)
	case config.Table != "" && !tableName.MatchString(config.Table) || config.File != "" &&
		strings.Contains(config.Table, "."):
		return nil, nil, wrong(name, "table", "%q is no name of a table: it has lower-case letters, digits and _; "+
			"for PostgreSQL a schema and a dot may stand before it", config.Table)
	case config.Connections < 0 || config.Connections > maxConnections:
		return nil, nil, wrong(name, "connections", "want a number from 1 to %d, not %d", maxConnections, config.Connections)
	}
	db := &database{
		name: name, timeout: cmp.Or(config.Timeout, connector.DefaultTimeout), rows: cmp.Or(config.Rows, defaultRows),
		places: make(chan struct{}, cmp.Or(config.Connections, defaultConnections)),
	}
	if config.File != "" {
		if config.Password != "" {
			return nil, nil, wrong(name, "password", "a file has no password")
		}
		if err := checkFile(name, config.File); err != nil {
			return nil, nil, err
		}
		db.backend = newSQLite(config.File, cmp.Or(config.Table, defaultTable))
		return db, nil, nil
	}
	server, err := newServer(name, config)
	if err != nil {
		return nil, nil, err
	}
	if password := server.Password; password != "" && len(password) < redact.Shortest {
		return nil, nil, wrong(name, "password", "it has fewer than %d bytes; so short a value cannot be told from "+
			"other text in answers, so it must not be sent", redact.Shortest)
	}
	db.backend = newPostgres(server, cmp.Or(config.Table, defaultTable))
	return db, []string{server.Password}, nil
}

// checkFile refuses a path where no database can be.
func checkFile(name, path string) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil || !folder.IsDir() {
		return wrong(name, "file", "there is no folder %s", filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return wrong(name, "file", "%s is not a file", path)
	}
	return nil
}

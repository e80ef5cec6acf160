package sqlcall

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// Connector is the sql connector.
type Connector struct {
	databases  map[string]*database
	unknown    bool        // Config.DatabasesUnknown
	turns      *turn.Queue // of calls at SQLite
	redact     *redact.Redactor
	operations []connector.Operation
}

// New makes the connector; it connects to nothing yet. Errors are *connector.SettingError.
func New(config Config) (*Connector, error) {
	turns := newTurns(config.Places)
	databases, passwords, err := newDatabases(config.Databases, turns)
	if err != nil {
		return nil, err
	}
	var longest time.Duration
	for _, db := range databases {
		longest = max(longest, db.timeout)
	}
	return &Connector{
		databases: databases, unknown: config.DatabasesUnknown, turns: turns,
		redact: redact.New(append(passwords, config.Secrets...)),
		operations: []connector.Operation{{
			Name: "query", Kind: connector.List, Schema: json.RawMessage(querySchema), Timeout: longest,
			Result:  json.RawMessage(queryResultSchema),
			Summary: "what a statement that only reads finds {database, sql, params?} -> {rows: [{column: value}]}",
		}, {
			Name: "exec", Kind: connector.Mutate, Schema: json.RawMessage(execSchema), Timeout: longest, Reconciles: true,
			Result: json.RawMessage(execResultSchema),
			Summary: "change a database, in one transaction {database, sql, params? | statements: [{sql, params?}]} -> " +
				"{results: [{affected, rows}]}",
		}},
	}, nil
}

// newDatabases checks the settings and makes what they describe; nothing is connected to yet.
func newDatabases(configured map[string]DatabaseConfig, turns *turn.Queue) (databases map[string]*database,
	secrets []string, err error) {
	if len(configured) == 0 {
		return nil, nil, &connector.SettingError{Key: databasesKey, Err: errors.New(databasesKey +
			" is missing: name the databases that may be used, e.g. databases: {shop: {file: shop.db}}")}
	}
	databases = make(map[string]*database, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		db, hidden, err := newDatabase(name, configured[name], turns)
		if err != nil {
			return nil, nil, err
		}
		databases[name] = db
		secrets = append(secrets, hidden...)
	}
	return databases, secrets, nil
}

func newDatabase(name string, config DatabaseConfig, turns *turn.Queue) (*database, []string, error) {
	switch {
	case !databaseName().MatchString(name):
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
	case config.Table != "" && !tableName().MatchString(config.Table) || config.File != "" &&
		strings.Contains(config.Table, "."):
		return nil, nil, wrong(name, "table", "%q is no name of a table: it has lower-case letters, digits and _; "+
			"for PostgreSQL a schema and a dot may stand before it", config.Table)
	case config.Connections < 0 || config.Connections > maxConnections:
		return nil, nil, wrong(name, "connections", "want a number from 1 to %d, not %d", maxConnections, config.Connections)
	}
	db := &database{
		name: name, timeout: cmp.Or(config.Timeout, connector.DefaultTimeout), rows: cmp.Or(config.Rows, defaultRows),
		places: turn.New(turn.Bounds{Target: "the database " + name, Setting: databasesKey,
			Places:     cmp.Or(config.Connections, defaultConnections),
			PlacesFrom: databasesKey + "." + name + ".connections"}),
	}
	if config.File != "" {
		if config.Password != "" {
			return nil, nil, wrong(name, "password", "a file has no password")
		}
		if err := checkFile(name, config.File); err != nil {
			return nil, nil, err
		}
		db.backend, db.turns = newSQLite(config.File, cmp.Or(config.Table, defaultTable)), turns
		db.writes = turn.New(turn.Bounds{Target: "the file of " + name, Places: 1,
			PlacesFrom: "SQLite lets one call at a time change a file"})
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

// querySchema bounds the parameters by what both kinds of databases take.
const querySchema = `{
  "type": "object", "additionalProperties": false, "required": ["database", "sql"],
  "properties": {
    "database": {"type": "string", "minLength": 1},
    "sql": {"type": "string", "minLength": 1},
    "params": {"type": "array", "maxItems": 32766}
  }
}`

const execSchema = `{
  "type": "object", "additionalProperties": false, "required": ["database"],
  "properties": {
    "database": {"type": "string", "minLength": 1},
    "sql": {"type": "string", "minLength": 1},
    "params": {"type": "array", "maxItems": 32766},
    "statements": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {
      "type": "object", "additionalProperties": false, "required": ["sql"],
      "properties": {
        "sql": {"type": "string", "minLength": 1},
        "params": {"type": "array", "maxItems": 32766}}}}
  }
}`

// What the operations return. A row has the values by the names of the columns, which the statement gives them.
const (
	rowsSchema        = `{"type": "array", "items": {"type": "object", "additionalProperties": true}}`
	queryResultSchema = `{"type": "object", "required": ["rows"], "properties": {"rows": ` + rowsSchema + `}}`
	execResultSchema  = `{"type": "object", "required": ["results"], "properties": {"results": {"type": "array", "items": {
  "type": "object", "required": ["affected", "rows"], "properties": {
    "affected": {"type": "integer"}, "rows": ` + rowsSchema + `}}}}}`
)

// Name is "sql".
func (c *Connector) Name() string { return "sql" }

// Operations lists query and exec.
func (c *Connector) Operations() []connector.Operation { return c.operations }

// Close closes the connections to all databases.
func (c *Connector) Close() error {
	var errs []error
	for _, db := range c.databases {
		errs = append(errs, db.backend.close())
	}
	return errors.Join(errs...)
}

// CallTimeout is that of the call's database.
func (c *Connector) CallTimeout(call connector.Call) time.Duration {
	if db := c.databases[nameOf(call)]; db != nil {
		return db.timeout
	}
	return 0
}

// CallHost is the name of the call's database, so that grants can name it: sql.query@shop.
func (c *Connector) CallHost(call connector.Call) string { return nameOf(call) }

// nameOf is the database that a call names; empty where it names none.
func nameOf(call connector.Call) string {
	var p struct {
		Database string `json:"database"`
	}
	if json.Unmarshal(call.Params, &p) != nil || !databaseName().MatchString(p.Database) {
		return "" // such a call is refused
	}
	return p.Database
}

// database is the configured one of the name.
func (c *Connector) database(name string) (*database, *eventlog.Failure) {
	if db := c.databases[name]; db != nil {
		return db, nil
	}
	if c.unknown {
		return &database{name: name}, nil
	}
	return nil, connector.Failf(eventlog.Permission, connector.CodeDatabase, "there is no database %s: %s has %s",
		eventlog.ClipName(name), databasesKey, strings.Join(slices.Sorted(maps.Keys(c.databases)), ", "))
}

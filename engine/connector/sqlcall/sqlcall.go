package sqlcall

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/eventlog"
)

// Connector is the sql connector.
type Connector struct {
	databases  map[string]*database
	redact     *redact.Redactor
	operations []connector.Operation
}

// New makes the connector; it connects to nothing yet. Errors are *connector.SettingError.
func New(config Config) (*Connector, error) {
	databases, passwords, err := newDatabases(config.Databases)
	if err != nil {
		return nil, err
	}
	var longest time.Duration
	for _, db := range databases {
		longest = max(longest, db.timeout)
	}
	return &Connector{
		databases: databases, redact: redact.New(append(passwords, config.Secrets...)),
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
	if json.Unmarshal(call.Params, &p) != nil || !databaseName.MatchString(p.Database) {
		return "" // such a call is refused
	}
	return p.Database
}

// database is the configured one of the name.
func (c *Connector) database(name string) (*database, *eventlog.Failure) {
	if db := c.databases[name]; db != nil {
		return db, nil
	}
	return nil, connector.Failf(eventlog.Permission, connector.CodeDatabase, "there is no database %s: %s has %s",
		eventlog.ClipName(name), databasesKey, strings.Join(slices.Sorted(maps.Keys(c.databases)), ", "))
}

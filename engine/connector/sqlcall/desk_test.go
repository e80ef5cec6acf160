package sqlcall_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/eventlog"
)

// password is planted wherever a database has one.
const password = "planted/s3cret@:"

// open makes a registry with the connector.
func open(t *testing.T, databases map[string]sqlcall.DatabaseConfig) *connector.Registry {
	t.Helper()
	c, err := sqlcall.New(sqlcall.Config{Databases: databases})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	registry, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// file makes a database of SQLite with these statements.
func file(t *testing.T, statements ...string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a shop?.db")
	db, err := sql.Open("sqlite", (&fileURL{path}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	do(t, db, statements...)
	return path, db
}

// do carries out statements.
func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// newCall is a call of the connector that has a minute.
func newCall(t *testing.T, operation string, params any) connector.Call {
	t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	return connector.Call{Workflow: "orders", Run: "R1", Connector: "sql", Operation: operation, Params: text,
		StartedAt: now, Deadline: now.Add(time.Minute)}
}

// asked are the parameters of a query.
func asked(database, text string, params ...any) map[string]any {
	p := map[string]any{"database": database, "sql": text}
	if len(params) > 0 {
		p["params"] = params
	}
	return p
}

// query wants an answer.
func query(t *testing.T, registry *connector.Registry, database, text string, params ...any) string {
	t.Helper()
	result, err := registry.Read(t.Context(), newCall(t, "query", asked(database, text, params...)))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(result)
}

// refused wants a failure, and returns it as class, code and message.
func refused(t *testing.T, registry *connector.Registry, database, text string, params ...any) string {
	t.Helper()
	result, err := registry.Read(t.Context(), newCall(t, "query", asked(database, text, params...)))
	var failure *eventlog.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("%s: %s, %v", text, result, err)
	}
	return fmt.Sprint(failure.Class, " ", failure.Code, " ", failure.Message)
}

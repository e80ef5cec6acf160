package sqlcall

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// While as many calls work in SQLite as may, others are held back, also those of another file; a question about a call
// is not, nor does PostgreSQL have these turns.
func TestCallsOfSQLiteHaveTurns(t *testing.T) {
	t.Parallel()
	databases := map[string]DatabaseConfig{"far": {URL: "postgres://pawl@127.0.0.1:1/far?sslmode=disable"}}
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		databases[name] = DatabaseConfig{File: path}
	}
	c, err := New(Config{Databases: databases, Places: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	call := func(operation, params string, takes time.Duration) connector.Call {
		return connector.Call{Workflow: "w", Run: "r", Key: "k", Connector: "sql", Operation: operation,
			Params: json.RawMessage(params), StartedAt: time.Now(), Deadline: time.Now().Add(takes)}
	}
	made := r.Perform(t.Context(), call("exec", `{"database": "one", "sql": "CREATE TABLE t (x)"}`, time.Minute))
	if made.Failure != nil {
		t.Fatal(made.Failure)
	}
	var releases []func()
	for range 2 {
		release, failure := c.databases["one"].enter(t.Context(), connector.Call{Workflow: "other"})
		if failure != nil {
			t.Fatal(failure)
		}
		releases = append(releases, release)
	}
	_, failed := r.Read(t.Context(), call("query", `{"database": "two", "sql": "SELECT 1"}`, 10*time.Millisecond))
	exec := r.Perform(t.Context(), call("exec", `{"database": "two", "sql": "CREATE TABLE t (x)"}`, 10*time.Millisecond))
	var failure *eventlog.Failure
	for _, f := range []error{failed, exec.Failure} {
		if !errors.As(f, &failure) || failure.Code != eventlog.CodeHeldBack ||
			!strings.Contains(failure.Message, "too many calls to SQLite") {
			t.Errorf("%v, want a call that is held back", f)
		}
	}
	if exec.Status != connector.Failed {
		t.Errorf("exec = %v, want a definite failure", exec.Status)
	}
	asked := call("exec", `{"database": "one", "sql": "CREATE TABLE t (x)"}`, time.Minute)
	if got := r.Reconcile(t.Context(), asked); got.Verdict != connector.VerdictApplied {
		t.Errorf("a question: %v, %v", got.Verdict, got.Failure)
	}
	_, failed = r.Read(t.Context(), call("query", `{"database": "far", "sql": "SELECT 1"}`, time.Minute))
	if !errors.As(failed, &failure) || failure.Code != "sql.connection" {
		t.Errorf("PostgreSQL: %v, want that nothing answers there", failed)
	}
	for _, release := range releases {
		release()
	}
	if _, err := r.Read(t.Context(), call("query", `{"database": "two", "sql": "SELECT 1"}`, time.Minute)); err != nil {
		t.Errorf("after that: %v", err)
	}
}

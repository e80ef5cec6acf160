package sqlcall

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
		release, failure := c.databases["one"].enter(t.Context(), connector.Call{Workflow: "other"}, reading)
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

// connect makes a connector with one server and two files. Each takes that many calls at once; two calls may work in
// files at once. No call of these tests connects: they only wait for their turns.
func connect(t *testing.T, connections int) *Connector {
	t.Helper()
	dir := t.TempDir()
	c, err := New(Config{Places: 2, Databases: map[string]DatabaseConfig{
		"one":    {File: filepath.Join(dir, "one"), Connections: connections},
		"two":    {File: filepath.Join(dir, "two"), Connections: connections},
		"server": {URL: "postgres://pawl@127.0.0.1:1/far?sslmode=disable", Connections: connections},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A workflow with many calls at a database delays the call of another workflow by one turn.
func TestWorkflowsTakeTurnsAtADatabase(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		database    string
		connections int
		mode        mode
	}{
		"queries of a server": {"server", 1, reading},
		"execs of a server":   {"server", 1, changing},
		"queries of a file":   {"one", 1, reading},
		"execs of a file":     {"one", 10, changing},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := connect(t, at.connections).databases[at.database]
			leave, failure := db.enter(t.Context(), connector.Call{Workflow: "many"}, at.mode)
			if failure != nil {
				t.Fatal(failure)
			}
			order := make(chan eventlog.WorkflowName, 21)
			var calls sync.WaitGroup
			for n := range cap(order) {
				workflow := eventlog.WorkflowName("many")
				if n == 20 {
					workflow = "few"
				}
				calls.Go(func() {
					leave, failure := db.enter(t.Context(), connector.Call{Workflow: workflow}, at.mode)
					if failure != nil {
						t.Error(failure)
						return
					}
					order <- workflow
					leave()
				})
				synctest.Wait() // they come in this order
			}
			if len(order) != 0 {
				t.Errorf("%s: %d calls wait for nothing", name, len(order))
			}
			leave()
			calls.Wait()
			if first, second := <-order, <-order; first != "many" || second != "few" {
				t.Errorf("%s: turns go to %s and %s first, want many and few", name, first, second)
			}
		})
	}
}

// While one file is in use and calls wait for it, a call at another file has its turn at once.
func TestCallsThatWaitForTheirFileKeepNoTurnFromAnother(t *testing.T) {
	t.Parallel()
	for awaited, at := range map[string]struct {
		connections int
		mode        mode
	}{
		"the database one": {1, reading},
		"the file of one":  {10, changing},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, at.connections)
			call := connector.Call{Workflow: "w"}
			leave, failure := c.databases["one"].enter(t.Context(), call, at.mode)
			if failure != nil {
				t.Fatal(failure)
			}
			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() {
					leave, failure := c.databases["one"].enter(t.Context(), call, at.mode)
					if failure != nil {
						t.Error(failure)
						return
					}
					leave()
				})
			}
			synctest.Wait()
			all := c.Waiting("w")
			for _, one := range all {
				if one.Target != awaited {
					t.Errorf("a call waits for %s, want %s", one.Target, awaited)
				}
			}
			if len(all) != 5 {
				t.Errorf("%d calls wait for %s, want 5", len(all), awaited)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			other, failure := c.databases["two"].enter(ctx, call, at.mode)
			if took := time.Since(begun); failure != nil || took != 0 {
				t.Errorf("%s is in use: a call at another file has its turn after %s, %v", awaited, took, failure)
			} else {
				other()
			}
			leave()
			calls.Wait()
		})
	}
}

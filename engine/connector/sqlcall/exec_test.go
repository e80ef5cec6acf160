package sqlcall_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/engine/connector/sqlcall/postgrestest"
	"github.com/pawl-run/pawl/eventlog"
)

// bench is a database of either kind with an empty table of orders, and what a test looks into it with.
type bench struct {
	config   sqlcall.DatabaseConfig
	db       *sql.DB
	registry *connector.Registry
	postgres bool
}

const ordersTable = "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)"

// newFileBench is one of SQLite.
func newFileBench(t *testing.T) *bench {
	path, db := file(t, ordersTable)
	b := &bench{config: sqlcall.DatabaseConfig{File: path}, db: db}
	b.registry = open(t, map[string]sqlcall.DatabaseConfig{"shop": b.config})
	return b
}

func newServerBench(t *testing.T, server *postgrestest.Server) *bench {
	name, db := server.Database(t)
	do(t, db, ordersTable)
	b := &bench{config: at(server, name), db: db, postgres: true}
	b.registry = open(t, map[string]sqlcall.DatabaseConfig{"shop": b.config})
	return b
}

// execTests are those that hold for both kinds of databases.
var execTests = map[string]func(*testing.T, *bench){
	"one transaction": testOneTransaction, "keys": testKeys, "reconcile": testReconcile, "races": testRaces,
	"gate": testGate, "deadline": testDeadline, "refused": testRefused, "forgotten": testForgotten,
}

func TestSQLiteExec(t *testing.T) {
	t.Parallel()
	for name, test := range execTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFileBench(t))
		})
	}
}

func testPostgresExec(t *testing.T, server *postgrestest.Server) {
	for name, test := range execTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newServerBench(t, server))
		})
	}
}

// mutation is a call of exec with the key.
func mutation(t *testing.T, key string, params map[string]any) connector.Call {
	t.Helper()
	call := newCall(t, "exec", params)
	call.Key = key
	return call
}

// insert is a call that inserts one order.
func insert(t *testing.T, key string, id int, note string) connector.Call {
	t.Helper()
	return mutation(t, key, asked("shop", "INSERT INTO orders VALUES ($1, $2) RETURNING id", id, note))
}

// orders are the orders that there are.
func (b *bench) orders(t *testing.T) string {
	t.Helper()
	rows, err := b.db.QueryContext(t.Context(), "SELECT id, note FROM orders ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var id int
		var note string
		if err := rows.Scan(&id, &note); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(id, " ", note))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

// shown is an outcome as text.
func shown(out connector.Outcome) string {
	status := map[connector.Status]string{connector.Applied: "applied", connector.Failed: "failed",
		connector.Uncertain: "uncertain"}[out.Status]
	if out.Failure != nil {
		return fmt.Sprint(status, " ", out.Failure.Class, " ", out.Failure.Code, " ", out.Failure.Message)
	}
	return status + " " + string(out.Result)
}

// found is what a reconcile found, as text.
func found(r connector.Reconciliation) string {
	verdict := map[connector.Verdict]string{connector.VerdictApplied: "applied", connector.VerdictFailed: "failed",
		connector.VerdictRetry: "retry"}[r.Verdict]
	if r.Failure != nil {
		return fmt.Sprint(verdict, " ", r.Failure.Class, " ", r.Failure.Code, " ", r.Failure.Message)
	}
	return verdict + " " + string(r.Result)
}

// want compares the beginning of a text.
func want(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

// All statements of a call take effect together with the row of the call, or none does.
func testOneTransaction(t *testing.T, b *bench) {
	call := mutation(t, "K1", map[string]any{"database": "shop", "statements": []map[string]any{
		{"sql": "INSERT INTO orders VALUES (1, $1), (2, 'b')", "params": []any{"a'); --"}},
		{"sql": "CREATE TABLE more (x INTEGER)"},
		{"sql": "UPDATE orders SET note = note || '!' WHERE id > 1 RETURNING id, note"},
		{"sql": "DELETE FROM orders WHERE id > 1; -- the last one"}, {"sql": "INSERT INTO orders VALUES (2, 'b!');"},
		{"sql": "SELECT count(*) AS n FROM orders"},
	}})
	const result = `{"results":[{"affected":2,"rows":[]},{"affected":0,"rows":[]},` +
		`{"affected":1,"rows":[{"id":2,"note":"b!"}]},{"affected":1,"rows":[]},` +
		`{"affected":1,"rows":[]},{"affected":1,"rows":[{"n":2}]}]}`
	want(t, "several statements", shown(b.registry.Perform(t.Context(), call)), "applied "+result)
	var workflow, hash, stored string
	if err := b.db.QueryRow("SELECT workflow, hash, result FROM pawl_calls WHERE key = 'K1'").
		Scan(&workflow, &hash, &stored); err != nil || workflow != "orders" || len(hash) != 64 || stored != result {
		t.Errorf("the row of the call: %v, %s, %s, %s", err, workflow, hash, stored)
	}
	call = mutation(t, "K2", map[string]any{"database": "shop", "statements": []map[string]any{
		{"sql": "INSERT INTO orders VALUES (3, 'c')"}, {"sql": "INSERT INTO orders VALUES (1, 'again')"},
	}})
	got := shown(b.registry.Perform(t.Context(), call))
	want(t, "a statement that fails", got, map[bool]string{true: "failed logic sql.23505 statements[1]: the database " +
		"shop: ",
		false: "failed logic sql.sqlite statements[1]: the database shop: "}[b.postgres])
	if got := b.orders(t); got != "1 a'); --, 2 b!" {
		t.Errorf("the orders are %s", got)
	}
	var calls int
	if err := b.db.QueryRow("SELECT count(*) FROM pawl_calls").Scan(&calls); err != nil || calls != 1 {
		t.Errorf("%d calls are noted: %v", calls, err)
	}
	for _, params := range []map[string]any{{"database": "shop"}, {"database": "shop", "params": []any{1},
		"statements": []any{
			map[string]any{"sql": "SELECT 1"}}}, {"database": "shop", "sql": "SELECT 1", "statements": []any{
		map[string]any{"sql": "SELECT 1"}}}} {
		want(t, fmt.Sprint(params), shown(b.registry.Perform(t.Context(), mutation(t, "K3", params))),
			"failed logic sql.params give either sql, with params, or statements")
	}
	many := asked("shop", "WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) "+
		"INSERT INTO orders SELECT x, 'many' FROM c RETURNING id")
	want(t, "more rows than a result may have", shown(b.registry.Perform(t.Context(), mutation(t, "K4", many))),
		"failed logic limit.rows")
	if got := b.orders(t); got != "1 a'); --, 2 b!" {
		t.Errorf("the orders are %s", got)
	}
}

// The same key again has no second effect and gets the first answer; with other parameters it is refused.
func testKeys(t *testing.T, b *bench) {
	first := shown(b.registry.Perform(t.Context(), insert(t, "K1", 1, "a")))
	want(t, "first", first, `applied {"results":[{"affected":1,"rows":[{"id":1}]}]}`)
	again := mutation(t, "K2", asked("shop", "INSERT INTO orders VALUES ((SELECT max(id) + 1 FROM orders), 'b') "+
		"RETURNING id"))
	second := shown(b.registry.Perform(t.Context(), again))
	if got := shown(b.registry.Perform(t.Context(), again)); got != second || !strings.Contains(got, `"id":2`) {
		t.Errorf("the same call again: %s\nwant %s", got, second)
	}
	want(t, "the same key for another call", shown(b.registry.Perform(t.Context(), insert(t, "K1", 9, "other"))),
		"failed internal sql.key")
	want(t, "what became of another call", found(b.registry.Reconcile(t.Context(), insert(t, "K1", 9, "other"))),
		"retry internal sql.key")
	if got := b.orders(t); got != "1 a, 2 b" {
		t.Errorf("the orders are %s", got)
	}
}

// Reconcile answers with the stored result. It answers failed only once the call can never take effect any more.
func testReconcile(t *testing.T, b *bench) {
	want(t, "a call, where there is no table", found(b.registry.Reconcile(t.Context(), insert(t, "K0", 1, "a"))),
		"retry precondition sql.noTable the table pawl_calls, in which Pawl notes what it has done, is not there")
	b.registry.Perform(t.Context(), mutation(t, "K", asked("shop", "DELETE FROM orders"))) // makes the table
	want(t, "a call that never came", found(b.registry.Reconcile(t.Context(), insert(t, "K0", 1, "a"))),
		"failed transient call.notApplied the database shop has not carried out the call, and never will: it has no row")
	want(t, "the same call, late", shown(b.registry.Perform(t.Context(), insert(t, "K0", 1, "a"))),
		"failed transient sql.givenUp")
	want(t, "asked again", found(b.registry.Reconcile(t.Context(), insert(t, "K0", 1, "a"))),
		"failed transient call.notApplied the database shop has not carried out the call, and never will: an earlier check")
	b.registry.Perform(t.Context(), insert(t, "K1", 1, "a"))
	for range 2 {
		if got := found(b.registry.Reconcile(t.Context(), insert(t, "K1", 1, "a"))); got !=
			`applied {"results":[{"affected":1,"rows":[{"id":1}]}]}` {
			t.Errorf("a call that was applied: %s", got)
		}
	}
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %s", got)
	}
}

// A call and the question what became of it meet in every order, and never disagree.
func testRaces(t *testing.T, b *bench) {
	// The call has done its work and not committed yet: the question waits for its end.
	call := insert(t, "slow", 1000, "slow")
	asks, arrived, proceed := 0, make(chan struct{}), make(chan struct{})
	call.Gate = func() *eventlog.Failure {
		if asks++; asks == 3 { // the registry asks first, then the connector before the first statement and the COMMIT
			close(arrived)
			<-proceed
		}
		return nil
	}
	outcome := make(chan string, 1)
	go func() { outcome <- shown(b.registry.Perform(t.Context(), call)) }()
	select {
	case <-arrived:
	case got := <-outcome:
		t.Fatalf("the call does not look a last time whether it may leave: %s", got)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	want(t, "asked while it is open", found(b.registry.Reconcile(short, call)), "retry transient ")
	answer := make(chan string, 1)
	go func() { answer <- found(b.registry.Reconcile(t.Context(), call)) }()
	close(proceed)
	want(t, "the slow call", <-outcome, "applied ")
	want(t, "asked meanwhile", <-answer, "applied ")

	const calls = 40
	performed, asked := make([]string, calls), make([]string, calls)
	var all sync.WaitGroup
	for i := range calls {
		call := insert(t, fmt.Sprint("race", i), i, "x")
		all.Go(func() { performed[i] = shown(b.registry.Perform(t.Context(), call)) })
		all.Go(func() { asked[i] = found(b.registry.Reconcile(t.Context(), call)) })
	}
	all.Wait()
	there := make(map[string]bool)
	for order := range strings.SplitSeq(b.orders(t), ", ") {
		there[order] = true
	}
	outcomes := make(map[string]int)
	for i := range calls {
		first, _, _ := strings.Cut(performed[i], " ")
		second, _, _ := strings.Cut(asked[i], " ")
		outcomes[first]++
		if first != second || there[fmt.Sprint(i, " x")] != (first == "applied") {
			t.Errorf("call %d: %s, and asked %s; the order is there: %v", i, performed[i], asked[i], there[fmt.Sprint(i, " x")])
		}
	}
	t.Logf("%v", outcomes)
}

// A call that has lost the right to be sent after its statements is not committed.
func testGate(t *testing.T, b *bench) {
	call := insert(t, "K1", 1, "a")
	asks := 0
	call.Gate = func() *eventlog.Failure {
		if asks++; asks < 3 {
			return nil
		}
		return connector.Failf(eventlog.Transient, "mutation.neverSent", "the lease is lost")
	}
	want(t, "without the right", shown(b.registry.Perform(t.Context(), call)), "failed transient mutation.neverSent")
	call.Gate = nil
	want(t, "with it", shown(b.registry.Perform(t.Context(), call)), "applied ")
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %s", got)
	}
}

// A call whose time is over before the COMMIT has definitely failed, and nothing of it goes on.
func testDeadline(t *testing.T, b *bench) {
	endless := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) INSERT INTO orders SELECT x, 'endless' " +
		"FROM c"
	call := mutation(t, "K1", asked("shop", endless))
	call.Deadline = time.Now().Add(300 * time.Millisecond)
	// Either ends it: the engine's clock, or the server's, which is told the deadline.
	want(t, "an endless statement", shown(b.registry.Perform(t.Context(), call)), "failed transient ")
	want(t, "the next one", shown(b.registry.Perform(t.Context(), insert(t, "K2", 1, "a"))), "applied ")
	want(t, "what became of it", found(b.registry.Reconcile(t.Context(), call)), "failed transient call.notApplied")
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %.200s", got)
	}
}

// A statement that would end the transaction, or touch what Pawl notes, is refused by its name. Nothing of
// its call takes effect.
func testRefused(t *testing.T, b *bench) {
	want(t, "the first call", shown(b.registry.Perform(t.Context(), insert(t, "K0", 1, "a"))), "applied ")
	refusals := map[string]string{
		"COMMIT": "COMMIT", "/* */ ROLLBACK": "ROLLBACK", "BEGIN": "BEGIN", "SAVEPOINT a": "SAVEPOINT",
		"RELEASE a": "RELEASE", "END": "END", "VACUUM": "VACUUM",
		"DELETE FROM pawl_calls": "pawl_calls", `UPDATE "PAWL_calls" SET result = 'x'`: "pawl_calls",
		"DROP TABLE pawl_calls": "pawl_calls", "ALTER TABLE pawl_calls ADD COLUMN x TEXT": "pawl_calls",
		"INSERT INTO pawl_calls (key) VALUES ('K9')": "pawl_calls",
	}
	if b.postgres {
		refusals[`DELETE FROM U&"pawl\005fcalls"`] = `U&"`
		for _, text := range []string{"COMMIT AND CHAIN", "ABORT", "START TRANSACTION", "PREPARE TRANSACTION 'x'",
			"SET search_path = x",
			"COPY orders FROM STDIN", "LISTEN x", "DISCARD ALL", "EXECUTE x", "DECLARE c CURSOR WITH HOLD FOR SELECT 1"} {
			first, _, _ := strings.Cut(text, " ")
			refusals[text] = first
		}
	} else {
		for text, name := range map[string]string{"ATTACH 'x' AS y": "ATTACH", "PRAGMA journal_mode = " +
			"off": "PRAGMA journal_mode",
			"PRAGMA writable_schema = 1": "PRAGMA writable_schema", "CREATE TEMP TABLE x (y)": "CREATE",
			"CREATE TEMP TRIGGER x AFTER INSERT ON orders BEGIN SELECT 1; END": "CREATE",
			"CREATE TRIGGER x AFTER INSERT ON pawl_calls BEGIN SELECT 1; END":  "pawl_calls",
			"CREATE INDEX x ON pawl_calls (result)":                            "pawl_calls",
			"SELECT load_extension('x')":                                       "load_extension",
			"CREATE VIRTUAL TABLE x USING dbstat":                              "CREATE"} {
			refusals[text] = name
		}
	}
	for text, name := range refusals {
		call := mutation(t, "K "+text, map[string]any{"database": "shop", "statements": []map[string]any{
			{"sql": "INSERT INTO orders VALUES (2, 'b')"}, {"sql": text}, {"sql": "INSERT INTO orders VALUES (3, 'c')"}}})
		got := shown(b.registry.Perform(t.Context(), call))
		if !strings.HasPrefix(got, "failed logic sql.") || !strings.Contains(got, name) || !strings.Contains(got,
			"statements[1]: ") {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %s", got)
	}
	want(t, "the first call", found(b.registry.Reconcile(t.Context(), insert(t, "K0", 1, "a"))), "applied ")
}

// Nothing is concluded from the absence of a row that may have been deleted for its age.
func testForgotten(t *testing.T, b *bench) {
	old := insert(t, "old", 1, "a")
	old.StartedAt = time.Now().Add(-30 * 24 * time.Hour)
	old.Deadline = old.StartedAt.Add(time.Minute)
	b.registry.Perform(t.Context(), mutation(t, "K", asked("shop", "DELETE FROM orders"))) // makes the table
	for range 2 {
		want(t, "an old call", found(b.registry.Reconcile(t.Context(), old)), "retry precondition sql.forgotten")
	}
	old.Deadline = time.Now().Add(time.Minute)
	want(t, "the call itself", shown(b.registry.Perform(t.Context(), old)), "applied ")
	want(t, "an old call that is still noted", found(b.registry.Reconcile(t.Context(), old)), "applied ")
}

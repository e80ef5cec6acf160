package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/sqlcall/postgrestest"
)

// selling writes one sale for each order, and notes what became of it.
const selling = `export default Keep.workflow({
  name: "sales", topics: { orders: {}, sold: {} },
  consumers: { sell: Keep.consumer({
    subscribe: ["orders"],
    async prepare(ctx) {
      const [order] = await ctx.peek("orders", { limit: 1 });
      if (!order) return { reservations: [], data: null };
      const { rows } = await ctx.sql.query({ database: "reader", sql: "SELECT count(*) AS n FROM sales WHERE id = $1",
        params: [order.id] });
      ctx.log("info", "sold before: " + rows[0].n);
      return { reservations: [{ topic: "orders", ids: [order.id] }], data: order.id, ui: { title: "Sell " + order.id } };
    },
    async mutate(ctx, { data }) {
      await ctx.sql.exec({ database: "shop", sql: "INSERT INTO sales (id) VALUES ($1) RETURNING id", params: [data] });
    },
    async next(ctx, { data }, result) {
      if (data) await ctx.publish("sold", { messageId: data, title: JSON.stringify(result) });
    },
  }) },
});
`

// market is an engine that sells, and the database that it sells into.
type market struct {
	t   *testing.T
	dir string
	db  *sql.DB
	p   *daemon
	// printed is what the engines before this one and the commands have printed.
	printed string
}

// start starts an engine.
func (m *market) start() { m.p = startDaemon(m.t, m.dir, "pawl", "up", "sales.ts") }

// kill ends the engine at once.
func (m *market) kill() {
	m.p.kill()
	m.printed += m.p.text()
}

// until follows the log until it is so; it asks when it comes, and again at each line.
func (m *market) until(is func(line string) bool) {
	m.t.Helper()
	res, err := m.p.send(http.MethodGet, "/v1/log?follow=true&tail=1", nil)
	if err != nil || res.StatusCode != http.StatusOK {
		m.t.Fatalf("follow the log: %v, %+v", err, res)
	}
	defer func() { _ = res.Body.Close() }()
	defer time.AfterFunc(longest, func() { _ = res.Body.Close() }).Stop()
	news := bufio.NewReader(res.Body)
	for line := ""; !is(line); {
		if line, err = news.ReadString('\n'); err != nil {
			m.t.Fatalf("the log ends: %v\n%s", err, m.p.text())
		}
	}
}

// order pushes an order, and waits until its call has been recorded as begun.
func (m *market) order(id string) {
	m.t.Helper()
	pushed := false
	m.until(func(line string) bool {
		if !pushed {
			m.printed += mustRun(m.t, m.dir, 0, "pawl", "push", "sales", "orders", "--id", id, "{}")
			pushed = true
		}
		return strings.Contains(line, `"mutation.started"`)
	})
}

// settled waits until the last order is noted as sold, and wants one sale for each, noted as applied.
func (m *market) settled(orders ...string) {
	m.t.Helper()
	m.until(func(string) bool {
		var sold struct{ Items []struct{ MessageID string } }
		m.p.get("/v1/workflows/sales/events?topic=sold", &sold)
		return len(sold.Items) == len(orders)
	})
	m.p.atRest("sales")
	rows, err := m.db.QueryContext(m.t.Context(), "SELECT id FROM sales ORDER BY id")
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	var sales []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			m.t.Fatal(err)
		}
		sales = append(sales, id)
	}
	if err := rows.Err(); err != nil || strings.Join(sales, " ") != strings.Join(orders, " ") {
		m.t.Errorf("the sales are %q, %v; want %q", sales, err, orders)
	}
	for _, id := range orders {
		shown := mustRun(m.t, m.dir, 0, "pawl", "events", "show", "sales", "sold", id)
		if !strings.Contains(shown, "applied") || !strings.Contains(shown, `affected`) {
			m.t.Errorf("what became of %s is noted as %s", id, shown)
		}
		m.printed += shown
	}
}

// An engine that is killed around its call leaves exactly one row in the database: SQLite.
func TestSalesOutliveTheEngineInSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program several times: left out by -short")
	}
	t.Parallel()
	dir := place(t, map[string]string{
		"sales.ts": selling,
		"pawl.yaml": "data: data\nconnectors:\n  sql:\n    databases:\n      shop: {file: shop.db, timeout: 2s}\n" +
			"      reader: {file: shop.db}\n",
	})
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "shop.db")),
		RawQuery: "_busy_timeout=10000"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE sales (n INTEGER PRIMARY KEY, id TEXT)"); err != nil {
		t.Fatal(err)
	}
	m := &market{t: t, dir: dir, db: db}
	m.start()
	m.order("A") // makes the table of calls: while that is missing, Pawl cannot know what became of a call
	m.settled("A")
	// The call waits for a lock that is not the engine's: it dies before its first statement.
	lock, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	m.order("a")
	m.kill()
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.settled("A", "a")
	// It dies wherever it is when the record of its call is seen.
	ids := []string{"A", "a"}
	for i := range 4 {
		ids = append(ids, fmt.Sprint("b", i))
		m.order(ids[len(ids)-1])
		m.kill()
		m.start()
		m.settled(ids...)
	}
	m.p.stop()
}

// An engine that is killed around its call leaves exactly one row in the database: PostgreSQL. Its passwords are
// found nowhere.
func TestSalesOutliveTheEngineInPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program several times: left out by -short")
	}
	t.Parallel()
	const password = "planted-s3cret/@"
	server := postgrestest.Start(t, password)
	name, db := server.Database(t)
	for _, statement := range []string{
		"CREATE TABLE sales (n serial PRIMARY KEY, id text)",
		`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN PERFORM pg_advisory_xact_lock(TG_ARGV[0]::int); RETURN NEW; END $$`,
		"CREATE TRIGGER before BEFORE INSERT ON sales FOR EACH ROW EXECUTE FUNCTION held(41)",
		"CREATE CONSTRAINT TRIGGER last AFTER INSERT ON sales DEFERRABLE INITIALLY DEFERRED " +
			"FOR EACH ROW EXECUTE FUNCTION held(42)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := url.Parse(server.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	whole.User = url.UserPassword(postgrestest.User, password)
	dir := place(t, map[string]string{
		"sales.ts": selling, "password": password + "\n", "url": whole.String() + "\n",
		"pawl.yaml": "data: data\nconnectors:\n  sql:\n    databases:\n      reader: {url: \"${file:url}\"}\n" +
			"      shop: {url: \"" + server.URL(name) + "\", password: \"${file:password}\", timeout: 2s}\n",
	})
	m := &market{t: t, dir: dir, db: db}
	m.start()
	lock, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var ids []string
	for i, held := range []int{41, 42} { // it dies in its statement, and in its COMMIT
		hold := func(what string) {
			if _, err := lock.ExecContext(t.Context(), fmt.Sprintf("SELECT pg_advisory_%s(%d)", what, held)); err != nil {
				t.Fatal(err)
			}
		}
		hold("lock")
		ids = append(ids, fmt.Sprint("a", i))
		m.order(ids[i])
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for waiting := 0; waiting == 0; <-ticker.C { // nothing announces that the server waits
			if err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl' AND " +
				"wait_event = 'advisory'").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		m.kill()
		hold("unlock")
		m.start()
		m.settled(ids...)
	}
	ids = append(ids, "b")
	m.order("b") // it dies wherever it is
	m.kill()
	m.start()
	m.settled(ids...)
	m.p.stop()

	listed, err := os.ReadFile(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wantNoSecret(t, "what was printed", []byte(m.printed+m.p.text()+string(listed)), password)
	err = filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		wantNoSecret(t, path, content, password)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

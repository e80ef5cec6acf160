package sqlcall_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/engine/connector/sqlcall/postgrestest"
)

// wire stands between the connector and the server.
type wire struct {
	listener net.Listener
	server   string
	// onCommit says what becomes of a COMMIT that is on its way to the server; nil lets all through. forward hands the
	// COMMIT to the server, whose answer goes nowhere; cut closes all connections.
	onCommit atomic.Pointer[func(forward func(), cut func())]

	mu    sync.Mutex
	cut   bool // no connection gets through any more
	conns []net.Conn
	done  sync.WaitGroup
}

func newWire(t *testing.T, server *postgrestest.Server) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, server: server.Socket()}
	w.done.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.done.Go(func() { w.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cutAll()
		w.done.Wait()
	})
	return w
}

// cutAll closes all connections, and lets no other through.
func (w *wire) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, conn := range w.conns {
		_ = conn.Close()
	}
}

// join keeps the connections, unless all are cut.
func (w *wire) join(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conns...)
	return !w.cut
}

func (w *wire) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	if !w.join(client, server) {
		return
	}
	w.done.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if act := w.onCommit.Load(); act != nil && bytes.Contains(buffer[:n], []byte("COMMIT\x00")) {
			(*act)(func() {
				_ = client.Close() // before the server can answer
				_, _ = server.Write(buffer[:n])
			}, w.cutAll)
			continue
		}
		_, _ = server.Write(buffer[:n])
	}
}

// testPostgresCommits: whatever happens around a COMMIT, an outcome is certain only where it is true, and the question
// what became of the call finds the truth.
func testPostgresCommits(t *testing.T, server *postgrestest.Server) {
	const result = `{"results":[{"affected":1,"rows":[{"id":1}]}]}`
	for name, c := range map[string]struct {
		// held is what a row waits for: 41 before it is inserted, 42 at the COMMIT.
		held int
		// happens is called once the call waits there; cut ends the call's connection.
		happens string
		// onCommit is what happens to the COMMIT on its way.
		onCommit func(forward, cut func())
		outcome  string
		finding  string
	}{
		"ended before the COMMIT": {held: 41, happens: "terminate", outcome: "failed transient sql.57P01",
			finding: "failed transient call.notApplied"},
		"ended in the COMMIT": {held: 42, happens: "terminate", outcome: "uncertain transient sql.57P01",
			finding: "failed transient call.notApplied"},
		"cut off in the COMMIT": {held: 42, happens: "cut", outcome: "uncertain transient sql.connection",
			finding: "applied " + result},
		"cancelled in the COMMIT": {held: 42, happens: "cancel", outcome: "uncertain transient sql.57014",
			finding: "failed transient call.notApplied"},
		"too late in the COMMIT": {held: 42, happens: "nothing", outcome: "uncertain transient call.timeout",
			finding: "failed transient call.notApplied"},
		"the COMMIT is lost": {onCommit: func(_, cut func()) { cut() }, outcome: "uncertain transient sql.connection",
			finding: "failed transient call.notApplied"},
		"its answer is lost": {onCommit: func(forward, cut func()) { forward(); cut() },
			outcome: "uncertain transient sql.connection", finding: "applied " + result},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newServerBench(t, server) // it asks on another way than the call takes
			do(t, b.db, `CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN PERFORM pg_advisory_xact_lock(TG_ARGV[0]::int); RETURN NEW; END $$`,
				"CREATE TRIGGER before BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION held(41)",
				"CREATE CONSTRAINT TRIGGER last AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED "+
					"FOR EACH ROW EXECUTE FUNCTION held(42)")
			w := newWire(t, server)
			_, database, _ := strings.Cut(b.config.URL, "@/")
			database, _, _ = strings.Cut(database, "?")
			direct := fmt.Sprintf("postgres://%s@%s/%s", postgrestest.User, w.listener.Addr(), database)
			registry := open(t, map[string]sqlcall.DatabaseConfig{"shop": {URL: direct, Password: password}})
			if c.onCommit != nil {
				w.onCommit.Store(&c.onCommit)
			}
			lock, err := b.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			locked := func(what string) {
				if _, err := lock.ExecContext(t.Context(), fmt.Sprintf("SELECT pg_advisory_%s(%d)", what, c.held)); err != nil {
					t.Error(err)
				}
			}
			if c.held != 0 {
				locked("lock")
			}
			call := insert(t, "K1", 1, "a")
			if c.happens == "nothing" {
				call.Deadline = time.Now().Add(5 * time.Second) // it must reach the COMMIT on a busy machine too
			}
			outcome := make(chan connector.Outcome, 1)
			go func() { outcome <- registry.Perform(t.Context(), call) }()
			waits := fmt.Sprintf("FROM pg_stat_activity WHERE datname = '%s' AND application_name = 'pawl' AND wait_event = "+
				"'advisory'",
				database)
			waiting := func(wanted int) {
				t.Helper()
				waitFor(t, func() (string, bool) {
					var n int
					err := b.db.QueryRow("SELECT count(*) " + waits).Scan(&n)
					return fmt.Sprint(n, err), err == nil && n == wanted
				})
			}
			if c.held != 0 {
				waiting(1)
				switch c.happens {
				case "terminate", "cancel":
					do(t, b.db, "SELECT pg_"+c.happens+"_backend(pid) "+waits)
				case "cut":
					w.cutAll()
				}
			}
			want(t, "the call", shown(<-outcome), c.outcome)
			if c.happens == "cut" {
				// The server has not noticed, and is still at the COMMIT: what becomes of it cannot be known yet.
				short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				want(t, "asked while it is open", found(b.registry.Reconcile(short, call)), "retry transient ")
				cancel()
			}
			if c.happens == "nothing" {
				waiting(0) // the server is told that the call is over
			}
			answer := make(chan string, 1)
			go func() { answer <- found(b.registry.Reconcile(t.Context(), call)) }()
			if c.held != 0 {
				locked("unlock")
			}
			want(t, "what became of it", <-answer, c.finding)
			there := map[bool]string{true: "1 a"}[strings.HasPrefix(c.finding, "applied")]
			if got := b.orders(t); got != there {
				t.Errorf("the orders are %q, want %q", got, there)
			}
			if there == "" {
				want(t, "the call once more", shown(b.registry.Perform(t.Context(), insert(t, "K1", 1, "a"))), "failed transient "+
					"sql.givenUp")
			}
		})
	}
}

// What the server refuses at the COMMIT has definitely failed. A table of calls that cannot be made, or that cannot
// keep a key unique, lets no call through.
func testPostgresRefusals(t *testing.T, server *postgrestest.Server) {
	b := newServerBench(t, server)
	do(t, b.db, "CREATE TABLE later (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)", "CREATE ROLE writer LOGIN PASSWORD "+
		"'planted'",
		"GRANT ALL ON orders TO writer", "REVOKE CREATE ON SCHEMA public FROM PUBLIC", "CREATE SCHEMA kept",
		"CREATE TABLE keyless (key text, workflow text, hash text, result text, at timestamptz)",
		`CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$`)
	twice := mutation(t, "K1", asked("shop", "INSERT INTO later VALUES (1), (1)"))
	want(t, "a constraint at the COMMIT", shown(b.registry.Perform(t.Context(), twice)), "failed logic sql.23505")
	for _, text := range []string{"CALL commits()", "DO $$ BEGIN COMMIT; END $$"} {
		want(t, text, shown(b.registry.Perform(t.Context(), mutation(t, text, asked("shop", text)))), "failed logic "+
			"sql.2D000")
	}
	writer := b.config
	writer.URL, writer.Password = strings.Replace(writer.URL, postgrestest.User, "writer", 1), "planted"
	keyless, other := b.config, b.config
	keyless.Table, other.Table = "keyless", "kept.calls"
	writer.Table = "kept.calls"
	byHand := b.config
	byHand.URL, byHand.Password = writer.URL, writer.Password
	r := open(t, map[string]sqlcall.DatabaseConfig{"writer": writer, "keyless": keyless, "other": other,
		"byhand": byHand})
	perform := func(database string) string {
		return shown(r.Perform(t.Context(), mutation(t, database, asked(database, "INSERT INTO orders VALUES (1, 'a')"))))
	}
	want(t, "without the privilege", perform("writer"), "failed permission sql.42501 the table in which Pawl notes")
	if got := perform("writer"); !strings.Contains(got, "make it with CREATE TABLE kept.calls (key text PRIMARY KEY") {
		t.Errorf("without the privilege: %s", got)
	}
	want(t, "without a unique key", perform("keyless"), "failed logic sql.42P10")
	want(t, "a table elsewhere", perform("other"), "applied ")
	// The statements of the page are all that such a role needs.
	do(t, b.db, "DROP TABLE IF EXISTS pawl_calls", "DELETE FROM orders")
	made, cleaned := pageStatements(t)
	do(t, b.db, made, "GRANT SELECT, INSERT ON pawl_calls TO writer",
		"INSERT INTO pawl_calls VALUES ('old', 'w', 'h', NULL, now() - interval '31 days')",
		"INSERT INTO pawl_calls VALUES ('young', 'w', 'h', NULL, now() - interval '29 days')", cleaned)
	want(t, "with a table made by hand", perform("byhand"), "applied ")
	want(t, "asked with a table made by hand", found(r.Reconcile(t.Context(), mutation(t, "never", asked("byhand",
		"SELECT 1")))), "failed ")
	var keys string
	if err := b.db.QueryRow("SELECT string_agg(key, ' ' ORDER BY key) FROM pawl_calls").Scan(&keys); err != nil ||
		keys != "byhand never young" {
		t.Errorf("the calls are %s: %v", keys, err)
	}
	var calls int
	if err := b.db.QueryRow("SELECT count(*) FROM kept.calls").Scan(&calls); err != nil || calls != 1 {
		t.Errorf("%d calls are noted there: %v", calls, err)
	}
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %q", got)
	}
}

// A table of calls that is gone as soon as it was made lets no call through, and the next call looks for it again.
func testPostgresVanishes(t *testing.T, server *postgrestest.Server) {
	b := newServerBench(t, server)
	do(t, b.db, `CREATE FUNCTION hidden() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN ALTER TABLE pawl_calls RENAME TO elsewhere; END $$`,
		"CREATE EVENT TRIGGER hides ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hidden()")
	want(t, "a table that vanishes", shown(b.registry.Perform(t.Context(), insert(t, "K1", 1, "a"))),
		"failed precondition sql.noTable")
	do(t, b.db, "DROP EVENT TRIGGER hides")
	want(t, "a table that stays", shown(b.registry.Perform(t.Context(), insert(t, "K2", 1, "a"))), "applied ")
	if got := b.orders(t); got != "1 a" {
		t.Errorf("the orders are %q", got)
	}
}

// pageStatements are those of the page of connectors that make the table of calls, and that delete old rows from it.
func pageStatements(t *testing.T) (made, cleaned string) {
	t.Helper()
	page, err := os.ReadFile("../CONNECTORS.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of SQL", len(blocks))
	}
	return blocks[0][1], blocks[1][1]
}

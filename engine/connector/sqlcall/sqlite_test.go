package sqlcall_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
)

// fileURL is the name of a file for the driver, whatever its path is.
type fileURL struct{ path string }

func (f *fileURL) String() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(f.path)}).String()
}

// What SQLite stores comes as the value of JSON that is nearest to it, and what a script gives arrives as it is.
func TestSQLiteValues(t *testing.T) {
	t.Parallel()
	path, db := file(t,
		"CREATE TABLE seen (n INTEGER, r REAL, s TEXT, b BLOB, day DATE, at DATETIME, at2 TIMESTAMP, flag BOOLEAN)",
		`INSERT INTO seen VALUES (9007199254740991, 1.5, 'it''s "so"', x'00ff', '2026-03-02', '2026-03-02 10:00:00',
			'2026-03-02T10:00:00.5+02:00', 1)`,
		"INSERT INTO seen VALUES (9007199254740992, 9e999, NULL, x'', 'never', NULL, 17, 0)")
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": {File: path}})
	for text, want := range map[string]string{
		"SELECT n, r, s, b FROM seen ORDER BY n": `{"rows":[{"n":9007199254740991,"r":1.5,"s":"it's \"so\"","b":"AP8="},` +
			`{"n":"9007199254740992","r":"Infinity","s":null,"b":""}]}`,
		"SELECT day, at, at2, flag FROM seen ORDER BY n": `{"rows":[{"day":"2026-03-02","at":"2026-03-02 10:00:00",` +
			`"at2":"2026-03-02 10:00:00.5+02:00","flag":1},{"day":"never","at":null,"at2":17,"flag":0}]}`,
		"SELECT n FROM seen WHERE n < 0": `{"rows":[]}`,
		"EXPLAIN QUERY PLAN SELECT 1": `{"rows":[{"id":1,"parent":0,"notused":0,` +
			`"detail":"SCAN CONSTANT ROW"}]}`,
		"SELECT name FROM pragma_table_info('seen') LIMIT 1": `{"rows":[{"name":"n"}]}`,
		"PRAGMA user_version":                                `{"rows":[{"user_version":0}]}`,
		"WITH a AS (SELECT 1 AS one) -- a comment; not the end\n" +
			"SELECT one FROM a /* nor ; this */ ; ": `{"rows":[{"one":1}]}`,
	} {
		if got := query(t, r, "shop", text); got != want {
			t.Errorf("%s gives %s\nwant %s", text, got, want)
		}
	}
	hostile := `'); DROP TABLE seen; --`
	got := query(t, r, "shop", "SELECT ? AS a, ?2 AS b, $3 AS c, ? AS d, ? AS e, typeof(?) AS f, ? AS g, hex(?) AS h",
		nil, hostile, 7, 1.5, true, 1e300, map[string]any{"a": []any{1, "x"}},
		map[string]any{"$base64": base64.StdEncoding.EncodeToString([]byte{0, 255})})
	want := `{"rows":[{"a":null,"b":"'); DROP TABLE seen; --","c":7,"d":1.5,"e":1,"f":"real",` +
		`"g":"{\"a\":[1,\"x\"]}","h":"00FF"}]}`
	if got != want {
		t.Errorf("arguments come back as %s\nwant %s", got, want)
	}
	got = query(t, r, "shop", "SELECT value FROM json_each(?)", []any{1, "two"})
	if want := `{"rows":[{"value":1},{"value":"two"}]}`; got != want {
		t.Errorf("a list gives %s, want %s", got, want)
	}
	var left int
	if err := db.QueryRow("SELECT count(*) FROM seen").Scan(&left); err != nil || left != 2 {
		t.Errorf("%d rows are left: %v", left, err)
	}
}

// A query of SQLite changes nothing, reaches no other file and leaves nothing behind.
func TestSQLiteQueriesOnlyRead(t *testing.T) {
	t.Parallel()
	path, db := file(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)", "INSERT INTO orders VALUES (1, 'a')")
	other := filepath.Join(t.TempDir(), "other.db")
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": {File: path}})
	for text, name := range map[string]string{
		"INSERT INTO orders VALUES (2, 'b')":           "INSERT",
		"UPDATE orders SET note = 'c' RETURNING id":    "UPDATE",
		"WITH a AS (SELECT 1) DELETE FROM orders":      "DELETE",
		"CREATE TABLE more (x)":                        "CREATE",
		"CREATE TEMP TABLE more (x)":                   "CREATE",
		"CREATE TEMP VIEW orders AS SELECT 2 AS id":    "CREATE",
		"DROP TABLE orders":                            "DROP",
		"ATTACH '" + other + "' AS other":              "ATTACH",
		"BEGIN":                                        "BEGIN",
		"/* */ commit":                                 "COMMIT",
		"END":                                          "END",
		"ROLLBACK":                                     "ROLLBACK",
		"SAVEPOINT a":                                  "SAVEPOINT",
		"PRAGMA query_only = off":                      "PRAGMA query_only",
		"PRAGMA journal_mode = delete":                 "PRAGMA journal_mode",
		"PRAGMA user_version = 5":                      "PRAGMA user_version",
		"SELECT load_extension('x')":                   "load_extension",
		"EXPLAIN INSERT INTO orders VALUES (3, 'c')":   "INSERT",
		"INSERT INTO orders SELECT 4, 'd' WHERE 1 > 2": "INSERT",
		"ANALYZE":      "ANALYZE",
		"DETACH other": "DETACH",
		"CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END": "CREATE",
	} {
		got := refused(t, r, "shop", text)
		if want := "logic sql.refused sql.query only reads, and cannot run " + name; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"VACUUM INTO '" + other + "'": "logic sql.sqlite the database shop: SQL logic error: cannot " +
			"VACUUM",
		"SELECT 1; SELECT 2":          "logic sql.refused the text holds several statements",
		"SELECT ';' ; /* ; */ DELETE": "several statements",
		"SELECT 1 AS a, 2 AS a":       "logic sql.columns two columns of the result have the name a",
		"SELECT nothing FROM orders":  "logic sql.sqlite the database shop: ",
		"SELEC 1":                     "syntax error",
		"SELECT ?":                    "missing argument with index 1",
		"SELECT 1\x00":                "logic sql.text the statement has a NUL character",
		"SELECT randomblob(40000000)": "logic limit.read the database shop: a value or the statement " +
			"has more than",
		"SELECT randomblob(2000000) AS b":                 "logic limit.read the result has more than 1048576 bytes",
		"SELECT replace(hex(zeroblob(500000)), '0', 'é')": "logic limit.read the result has more than 1048576 bytes",
	} {
		if got := refused(t, r, "shop", text); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	if got := refused(t, r, "shop", "SELECT ?", "a\x00b"); !strings.Contains(got, "params[0]: it has a NUL character") {
		t.Errorf("a NUL in a value: %s", got)
	}
	if got := refused(t, r, "stock", "SELECT 1"); !strings.HasPrefix(got, "permission sql.database there is no "+
		"database stock: connectors.sql.databases has shop") {
		t.Errorf("another database: %s", got)
	}
	if _, err := os.Stat(other); err == nil {
		t.Errorf("%s was made", other)
	}
	var rows int
	if err := db.QueryRow("SELECT count(*) FROM orders WHERE note = 'a'").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows are as they were: %v", rows, err)
	}
}

// A file that is not there is not made, and one in the way of the write-ahead log is read.
func TestSQLiteFiles(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.db")
	path, db := file(t, "PRAGMA journal_mode = wal", "CREATE TABLE a (x)", "INSERT INTO a VALUES (1)")
	closed, db2 := file(t, "PRAGMA journal_mode = wal", "CREATE TABLE a (x)", "INSERT INTO a VALUES (2)")
	if err := db2.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, map[string]sqlcall.DatabaseConfig{"none": {File: none}, "open": {File: path}, "closed": {File: closed},
		"text": {File: text}})
	if got := refused(t, r, "none", "SELECT 1"); !strings.Contains(got, "precondition sql.file the database none: the "+
		"file "+
		none+" is not there") {
		t.Errorf("a file that is not there: %s", got)
	}
	got := shown(r.Perform(t.Context(), mutation(t, "K1", asked("none", "CREATE TABLE a (x)"))))
	if !strings.HasPrefix(got, "failed precondition sql.file") {
		t.Errorf("a change of a file that is not there: %s", got)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the file was made")
	}
	if got := refused(t, r, "text", "SELECT * FROM a"); !strings.HasPrefix(got, "precondition sql.sqlite") {
		t.Errorf("a file that is no database: %s", got)
	}
	for name, want := range map[string]string{"open": `{"rows":[{"x":1}]}`, "closed": `{"rows":[{"x":2}]}`} {
		if got := query(t, r, name, "SELECT x FROM a"); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	do(t, db, "INSERT INTO a VALUES (3)") // a query holds no lock when it is over
}

// A result has a bounded number of rows, and a statement ends with its call, also one that has begun to answer.
func TestSQLiteLimits(t *testing.T) {
	t.Parallel()
	path, _ := file(t, "CREATE TABLE a (x)")
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": {File: path, Rows: 100},
		"fast": {File: path, Timeout: 50 * time.Millisecond, Connections: 1}})
	count := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT ?) SELECT x FROM c"
	if got := query(t, r, "shop", count, 100); !strings.HasSuffix(got, `{"x":100}]}`) {
		t.Errorf("100 rows: %s", got)
	}
	if got := refused(t, r, "shop", count, 101); !strings.Contains(got, "logic limit.rows the result has more than 100 "+
		"rows") ||
		!strings.Contains(got, "connectors.sql.databases.shop.rows") {
		t.Errorf("101 rows: %s", got)
	}
	for _, endless := range []string{
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x = 1 OR x < 0",
	} {
		if got := refused(t, r, "fast", endless); !strings.HasPrefix(got, "transient call.timeout") {
			t.Errorf("%s: %s", endless, got)
		}
		waitFor(t, func() (string, bool) { // it gives its place back
			_, err := r.Read(t.Context(), newCall(t, "query", asked("fast", "SELECT 1")))
			return fmt.Sprint(err), err == nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Read(ctx, newCall(t, "query", asked("shop", "SELECT 1")))
	if err == nil || !strings.Contains(err.Error(), connector.CodeCancelled) {
		t.Errorf("a call that was given up: %v", err)
	}
}

// What a statement of SQLite makes is bounded before a row of it is read into memory.
func TestSQLiteRowsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it reads large values")
	}
	t.Parallel()
	b := newFileBench(t)
	for text, expected := range map[string]string{
		"SELECT zeroblob(4000000)" + strings.Repeat(", zeroblob(4000000)", 200): "failed logic limit.read the result has " +
			"201 columns",
		"SELECT zeroblob(5000000)": "failed logic limit.read the database shop: a value or the statement has more " +
			"than 4194304 bytes",
	} {
		want(t, text[:24], shown(b.registry.Perform(t.Context(), mutation(t, text, asked("shop", text)))), expected)
	}
}

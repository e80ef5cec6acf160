package sqlcall_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/engine/connector/sqlcall/postgrestest"
)

// TestPostgres runs what needs a server of PostgreSQL.
func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it makes a server of its own")
	}
	t.Parallel()
	server := postgrestest.Start(t, password)
	for name, test := range map[string]func(*testing.T, *postgrestest.Server){
		"values": testPostgresValues, "queries only read": testPostgresQueriesOnlyRead, "limits": testPostgresLimits,
		"sessions": testPostgresSessions, "logins": testPostgresLogins, "exec": testPostgresExec,
		"commits": testPostgresCommits, "refusals": testPostgresRefusals, "vanishes": testPostgresVanishes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

// at is a database of the server as it is configured.
func at(server *postgrestest.Server, database string) sqlcall.DatabaseConfig {
	return sqlcall.DatabaseConfig{URL: server.URL(database), Password: password}
}

// What PostgreSQL stores comes as the value of JSON that is nearest to it, and what a script gives arrives as it is.
func testPostgresValues(t *testing.T, server *postgrestest.Server) {
	name, db := server.Database(t)
	do(t, db, "CREATE TYPE mood AS ENUM ('glad', 'sad')",
		"CREATE TABLE seen (id int, big bigint, price numeric(10, 2), data jsonb, raw bytea, at timestamptz, tags text[])")
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": at(server, name)})
	for expression, want := range map[string]string{
		"NULL::int":                             `null`,
		"true":                                  `true`,
		"1::smallint":                           `1`,
		"9007199254740991":                      `9007199254740991`,
		"-9007199254740992":                     `"-9007199254740992"`,
		"count(*)":                              `1`,
		"12.50":                                 `"12.50"`,
		"1.5::float8":                           `1.5`,
		"0.1::float4":                           `0.1`,
		"'NaN'::float8":                         `"NaN"`,
		"'it''s \"so\"'":                        `"it's \"so\""`,
		"'2026-03-02'::date":                    `"2026-03-02"`,
		"'2026-03-02 10:00:00.5'::timestamp":    `"2026-03-02T10:00:00.5"`,
		"'2026-03-02 12:00:00+02'::timestamptz": `"2026-03-02T10:00:00Z"`,
		"'infinity'::timestamptz":               `"infinity"`,
		"'0044-03-15 BC'::timestamp":            `"0044-03-15 00:00:00 BC"`,
		"'1 day 2 hours'::interval":             `"P1DT2H"`,
		"'10:00'::time":                         `"10:00:00"`,
		`'\x00ff'::bytea`:                       `"AP8="`,
		`''::bytea`:                             `""`,
		`'{"b": 1, "a": [1.50, 12345678901234567890]}'::json`: `{"b": 1, "a": [1.50, 12345678901234567890]}`,
		"'7f0c0000-0000-4000-8000-000000000001'::uuid":        `"7f0c0000-0000-4000-8000-000000000001"`,
		"'glad'::mood":          `"glad"`,
		"'{glad,sad}'::mood[]":  `"{glad,sad}"`,
		"ARRAY[1, NULL, 3]":     `[1,null,3]`,
		"ARRAY[[1, 2], [3, 4]]": `[[1,2],[3,4]]`,
		"'[0:1]={5,6}'::int[]":  `[5,6]`,
		"'{}'::text[]":          `[]`,
		`ARRAY['a,b', '', 'NULL', NULL, E'q"\\', '{x}']`: `["a,b","","NULL",null,"q\"\\","{x}"]`,
		"ARRAY['2026-03-02 10:00'::timestamp]":           `["2026-03-02T10:00:00"]`,
		"'192.168.0.1'::inet":                            `"192.168.0.1"`,
		"int4range(1, 5)":                                `"[1,5)"`,
	} {
		if got, want := query(t, r, "shop", "SELECT "+expression+" AS v"), `{"rows":[{"v":`+want+`}]}`; got != want {
			t.Errorf("%s gives %s\nwant %s", expression, got, want)
		}
	}
	hostile := `'); DROP TABLE seen; --`
	got := query(t, r, "shop", "SELECT $1::text AS a, $2::text AS b, $3::int AS c, $4::numeric AS d, $5::bool AS e, "+
		"$6::jsonb AS f, $7::bytea AS g, $8::int[] AS h, $9::jsonb AS i, $10::text[] AS j, $11::bigint AS k",
		nil, hostile, 7, 1.5, true, map[string]any{"a": 1}, map[string]any{"$base64": base64.StdEncoding.EncodeToString(
			[]byte{0, 255})}, []any{1, nil, 3}, []any{1, "x"}, []any{`a"\`, "{b}", nil, ""}, 9007199254740992)
	want := `{"rows":[{"a":null,"b":"'); DROP TABLE seen; --","c":7,"d":"1.5","e":true,"f":{"a": 1},"g":"AP8=",` +
		`"h":[1,null,3],"i":[1, "x"],"j":["a\"\\","{b}",null,""],"k":"9007199254740992"}]}`
	if got != want {
		t.Errorf("arguments come back as %s\nwant %s", got, want)
	}
	if got := query(t, r, "shop", "SELECT 1 AS one WHERE 2 = ANY($1)", []any{1, 2}); got != `{"rows":[{"one":1}]}` {
		t.Errorf("a list gives %s", got)
	}
	if got := query(t, r, "shop", "SELECT * FROM seen"); got != `{"rows":[]}` {
		t.Errorf("an empty table gives %s", got)
	}
}

// A query of PostgreSQL changes nothing, whatever it says.
func testPostgresQueriesOnlyRead(t *testing.T, server *postgrestest.Server) {
	name, db := server.Database(t)
	do(t, db, "CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)", "CREATE SEQUENCE seq",
		"CREATE FUNCTION change() RETURNS int LANGUAGE sql AS 'INSERT INTO orders VALUES (2) RETURNING id'",
		"CREATE TABLE secrets (a int)", "CREATE ROLE limited LOGIN PASSWORD 'planted'", "GRANT SELECT ON orders TO limited")
	limited := at(server, name)
	limited.URL = strings.Replace(limited.URL, postgrestest.User, "limited", 1)
	limited.Password = "planted"
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": at(server, name), "limited": limited})
	for text, want := range map[string]string{
		"INSERT INTO orders VALUES (2)":                  "cannot run INSERT; it runs EXPLAIN, SELECT",
		"/* /* nested */ */ -- and\n DELETE FROM orders": "cannot run DELETE",
		"COMMIT":                     "cannot run COMMIT",
		"; COMMIT":                   "does not begin with a word",
		"\u00a0COMMIT":               "does not begin with a word",
		"SET TRANSACTION READ WRITE": "cannot run SET",
		"COPY orders TO STDOUT":      "cannot run COPY",
		"SELECT 1; INSERT INTO orders VALUES (2)":                                 "sql.42601",
		"SELECT 1; COMMIT; INSERT INTO orders VALUES (2)":                         "sql.42601",
		"WITH a AS (INSERT INTO orders VALUES (2) RETURNING id) SELECT id FROM a": "sql.25006",
		"SELECT change()":                                                    "sql.25006",
		"SELECT nextval('seq')":                                              "sql.25006",
		"SELECT id FROM orders FOR UPDATE":                                   "sql.25006",
		"SELECT id INTO copied FROM orders":                                  "sql.25006",
		"EXPLAIN ANALYZE INSERT INTO orders VALUES (2)":                      "sql.25006",
		"SELECT set_config('transaction_read_only', 'off', false), change()": "sql.25001",
		"SELECT nothing FROM orders":                                         "logic sql.42703 the database shop: column",
		"SELECT * FROM nothing":                                              "logic sql.42P01",
		"SELECT 1/0":                                                         "logic sql.22012",
		"SELECT $1::int":                                                     "logic sql.08P01",
		"SELECT 1 AS a, 2 AS a":                                              "logic sql.columns",
	} {
		got := refused(t, r, "shop", text)
		if !strings.HasPrefix(got, "logic ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	if got := refused(t, r, "shop", "SELECT $1::int", 1, 2); !strings.HasPrefix(got, "logic sql.08P01") {
		t.Errorf("a value too many: %s", got)
	}
	if got := refused(t, r, "shop", "SELECT $1::int[]", []any{1}, 2); !strings.HasPrefix(got, "logic sql.params the "+
		"statement "+
		"has 1 placeholders, and params 2 values") {
		t.Errorf("a value too many beside a list: %s", got)
	}
	if got := refused(t, r, "limited", "SELECT * FROM secrets"); !strings.HasPrefix(got, "permission sql.42501") {
		t.Errorf("without the privilege: %s", got)
	}
	var rows int
	if err := db.QueryRow("SELECT count(*) FROM orders").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows: %v", rows, err)
	}
}

// A result is bounded, and what it does not take is not read. A statement ends with its call.
func testPostgresLimits(t *testing.T, server *postgrestest.Server) {
	name, db := server.Database(t)
	short := at(server, name)
	short.Timeout, short.Connections = 300*time.Millisecond, 1
	few := at(server, name)
	few.Rows, few.Connections = 100, 1
	r := open(t, map[string]sqlcall.DatabaseConfig{"few": few, "short": short})
	if got := query(t, r, "few", "SELECT generate_series(1, 100) AS n"); !strings.HasSuffix(got, `{"n":100}]}`) {
		t.Errorf("100 rows: %s", got)
	}
	for text, want := range map[string]string{
		"SELECT generate_series(1, 1000000000) AS n": "logic limit.rows the result has more than 100 rows",
		"SELECT repeat('x', 1100000)":                "logic limit.read the result has more than 1048576 bytes",
		"SELECT repeat('x', 3000000)":                "logic limit.read the result has more than 1048576 bytes",
		"SELECT repeat('x', 20000000)": "logic limit.read the database few: the result has more " +
			"than 1048576 bytes",
		"SELECT repeat('x', 20000) FROM generate_series(1, 90)": "logic limit.read the result has more than 1048576 bytes",
	} {
		if got := refused(t, r, "few", text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	if got := refused(t, r, "short", "SELECT pg_sleep(60)"); !strings.HasPrefix(got, "transient call.timeout") {
		t.Errorf("an endless statement: %s", got)
	}
	// The server goes on with none of them.
	waitFor(t, func() (string, bool) {
		var busy int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'pawl' AND "+
			"state <> 'idle'", name).Scan(&busy)
		return fmt.Sprint(busy, err), err == nil && busy == 0
	})

	// A call that finds no free connection says so; nothing was wrong with the database.
	ctx, cancel := context.WithCancel(t.Context())
	slow := open(t, map[string]sqlcall.DatabaseConfig{"short": {URL: short.URL, Password: password, Connections: 1}})
	done := make(chan error, 1)
	go func() {
		_, err := slow.Read(ctx, newCall(t, "query", asked("short", "SELECT pg_advisory_xact_lock(7), pg_sleep(60)")))
		done <- err
	}()
	waitFor(t, func() (string, bool) {
		var locks int
		err := db.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7").Scan(&locks)
		return fmt.Sprint(locks, err), err == nil && locks == 1
	})
	call := newCall(t, "query", asked("short", "SELECT 1"))
	call.Deadline = time.Now().Add(20 * time.Millisecond)
	if _, err := slow.Read(t.Context(), call); err == nil || !strings.Contains(err.Error(), "call.heldBack") ||
		!strings.Contains(err.Error(), "too many calls to the database short were under way") {
		t.Errorf("without a free connection: %v", err)
	}
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "call.cancelled") {
		t.Errorf("the call that was given up: %v", err)
	}
	query(t, slow, "short", "SELECT 1 AS one")
}

// Nothing of a call stays on its connection, and a connection that broke is not used again.
func testPostgresSessions(t *testing.T, server *postgrestest.Server) {
	name, db := server.Database(t)
	do(t, db, "CREATE SCHEMA other", "CREATE TABLE a AS SELECT 1 AS x", "CREATE TABLE other.a AS SELECT 2 AS x")
	config := at(server, name)
	config.Connections = 1
	r := open(t, map[string]sqlcall.DatabaseConfig{"shop": config})
	pid := query(t, r, "shop", "SELECT pg_backend_pid() AS pid")
	query(t, r, "shop", "SELECT set_config('search_path', 'other', false), pg_advisory_lock(1)")
	var locks int
	if err := db.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid " +
		"FROM pg_database WHERE datname = current_database())").Scan(&locks); err != nil || locks != 0 {
		t.Errorf("an idle connection holds %d locks: %v", locks, err)
	}
	for _, left := range []string{"SELECT set_config('search_path', 'other', false)",
		"CREATE TEMP TABLE a AS SELECT 3 AS x"} {
		want(t, left, shown(r.Perform(t.Context(), mutation(t, left, asked("shop", left)))), "applied ")
	}
	if got := query(t, r, "shop", "SELECT x FROM a"); got != `{"rows":[{"x":1}]}` {
		t.Errorf("with the settings of the call before: %s", got)
	}
	if got := query(t, r, "shop", "SELECT pg_backend_pid() AS pid"); got != pid {
		t.Errorf("each call has a connection of its own: %s and %s", pid, got)
	}
	for range 2 {
		do(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl' AND datname = '"+
			name+"'")
		query(t, r, "shop", "SELECT 1 AS one")
	}
	if got := refused(t, r, "shop", "SELECT pg_terminate_backend(pg_backend_pid())"); !strings.HasPrefix(got,
		"transient ") {
		t.Errorf("a server that ends the connection: %s", got)
	}
}

// What the server says of a login is told apart, and no failure has the password in it.
func testPostgresLogins(t *testing.T, server *postgrestest.Server) {
	name, _ := server.Database(t)
	wrong, none, gone := at(server, name), at(server, "none"), at(server, name)
	wrong.Password = "planted-wrong"
	gone.URL = strings.Replace(gone.URL, strings.ReplaceAll(server.Folder, "/", "%2F"), "%2Fnowhere", 1)
	r := open(t, map[string]sqlcall.DatabaseConfig{"wrong": wrong, "none": none, "gone": gone,
		"refusing": {URL: "postgres://pawl@127.0.0.1:1/shop", Password: password}})
	for name, want := range map[string]string{
		"wrong": "auth sql.28P01", "none": "precondition sql.3D000", "gone": "transient sql.connection the database gone " +
			"cannot be reached", "refusing": "transient sql.connection the database refusing cannot be reached",
	} {
		got := refused(t, r, name, "SELECT 1")
		if !strings.HasPrefix(got, want) || strings.Contains(got, "planted") {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	// A server that repeats the password gets a blank in its place.
	r = open(t, map[string]sqlcall.DatabaseConfig{"shop": at(server, name)})
	if got := query(t, r, "shop", "SELECT $1::text AS said, $2::jsonb AS j, $3::bytea AS b", "it is "+password,
		map[string]any{password: password}, map[string]any{"$base64": base64.StdEncoding.EncodeToString([]byte(password))},
	); strings.Contains(got, "planted") || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(password))) ||
		strings.Count(got, "***") < 4 {
		t.Errorf("the password comes back: %s", got)
	}
	if got := refused(t, r, "shop", "SELECT $1::int", password); strings.Contains(got, "planted") {
		t.Errorf("the password is in a failure: %s", got)
	}
}

// waitFor asks again until it is true. Between, it waits for a moment that nothing announces.
func waitFor(t *testing.T, is func() (seen string, ok bool)) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	over := time.After(20 * time.Second)
	for {
		seen, ok := is()
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-over:
			t.Fatalf("it never was so: %s", seen)
		}
	}
}

package sqlcall

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// idleConnections are kept open for the next calls, for idleTime.
	idleConnections = 4
	idleTime        = time.Minute
	// undoTime is how long the server may take to undo a transaction; then its connection is closed, which undoes it too.
	undoTime = 5 * time.Second
)

// postgres is a database of PostgreSQL.
type postgres struct {
	pool *sql.DB
	// table is the name of the table of calls, as configured.
	table string
	// calls is the same with its schema, in quotation marks, once the table is known to be there: what a script says of
	// the search path does not lead to another one.
	calls atomic.Pointer[string]
}

func newPostgres(server *pgx.ConnConfig, table string) *postgres {
	// The connections forget prepared statements, see below.
	server.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool := stdlib.OpenDB(*server,
		stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }), // it is asked below
		stdlib.OptionResetSession(forget))
	pool.SetMaxIdleConns(idleConnections)
	pool.SetConnMaxIdleTime(idleTime)
	return &postgres{pool: pool, table: table}
}

// forget ends what an earlier call has left on its connection: settings, temporary tables, locks. It shows too whether
// the connection still holds.
func forget(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.PgConn().Exec(ctx, "DISCARD ALL").ReadAll(); err != nil {
		return driver.ErrBadConn
	}
	return nil
}

func (p *postgres) close() error { return p.pool.Close() }

func (p *postgres) within(ctx context.Context, mode mode, use func(transaction) error) error {
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	rawErr := conn.Raw(func(driverConn any) error {
		held, ok := driverConn.(*stdlib.Conn)
		if !ok {
			err = fmt.Errorf("the driver has a connection of the type %T", driverConn)
			return nil
		}
		t := &postgresTransaction{conn: held.Conn().PgConn(), mode: mode, table: p.table}
		if calls := p.calls.Load(); calls != nil {
			t.calls = *calls
		}
		if err = t.begin(ctx); err == nil {
			err = use(t)
		}
		if !t.undo(ctx) {
			return driver.ErrBadConn // the connection is closed
		}
		return nil
	})
	if err == nil && !errors.Is(rawErr, driver.ErrBadConn) { // that is how the connection was closed above
		return rawErr
	}
	return err
}

// postgresTransaction is a transaction on its connection.
type postgresTransaction struct {
	conn *pgconn.PgConn
	mode mode
	// table is the name of the table of calls as configured, and calls the same with its schema, in quotation marks.
	table, calls string
}

// durable lets the server answer a COMMIT only when what it has committed is not lost when the server falls. It is said
// again with the COMMIT: a statement of the call may have switched it off.
const durable = "SELECT pg_catalog.set_config('synchronous_commit', 'on', true) " +
	"WHERE pg_catalog.current_setting('synchronous_commit') = 'off'"

// begin opens the transaction. The server ends it by itself when the call's time is over, also where the connection
// does not show that the other side is gone. Values come in one notation, whatever the server's settings are.
func (t *postgresTransaction) begin(ctx context.Context) error {
	left := connector.DefaultTimeout
	if until, bounded := ctx.Deadline(); bounded {
		left = max(time.Until(until), time.Millisecond)
	}
	begin := "BEGIN"
	switch t.mode {
	case reading:
		begin = "BEGIN READ ONLY"
	case changing:
	case asking:
		begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
	}
	settings := []string{
		begin, "SET LOCAL datestyle = 'ISO, YMD'", "SET LOCAL timezone = 'UTC'", "SET LOCAL intervalstyle = 'iso_8601'",
		"SET LOCAL bytea_output = 'hex'", "SET LOCAL extra_float_digits = 1",
		fmt.Sprintf("SET LOCAL statement_timeout = %d", left.Milliseconds()+1),
		fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", left.Milliseconds()+1),
	}
	if t.mode != reading {
		settings = append(settings, durable)
	}
	_, err := t.conn.Exec(ctx, strings.Join(settings, "; ")).ReadAll()
	return err
}

// undo ends what is still open of the transaction. It reports whether the connection can be used again.
func (t *postgresTransaction) undo(ctx context.Context) bool {
	if t.conn.IsClosed() || ctx.Err() != nil {
		return false
	}
	// A lock that lasts longer than its transaction would be held for as long as the connection is idle.
	last := "SELECT pg_catalog.pg_advisory_unlock_all()"
	if t.conn.TxStatus() != 'I' {
		last = "ROLLBACK; " + last
	}
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	_, err := t.conn.Exec(ctx, last).ReadAll()
	return err == nil && t.conn.TxStatus() == 'I'
}

// readable are the statements that can only read, by their first words. The server refuses what changes something
// in them; none of them ends the transaction.
var readable = []string{"(", "EXPLAIN", "SELECT", "SHOW", "TABLE", "VALUES", "WITH"}

// changers are the statements that can be undone with their transaction and do not end it, besides those that read.
var changers = []string{"ALTER", "ANALYZE", "CALL", "CLUSTER", "COMMENT", "CREATE", "DELETE", "DO", "DROP", "GRANT",
	"IMPORT", "INSERT", "LOCK", "MERGE", "NOTIFY", "REFRESH", "REINDEX", "REVOKE", "SECURITY", "TRUNCATE", "UPDATE"}

// allowed refuses, by its name, a statement that is not known to leave the transaction open.
func (t *postgresTransaction) allowed(s statement) *eventlog.Failure {
	first := words(s.text, 1)
	if len(first) == 0 {
		return refuse("refused", "the statement does not begin with a word")
	}
	if t.mode == changing {
		switch {
		case !slices.Contains(readable, first[0]) && !slices.Contains(changers, first[0]):
			return refuse("refused", "sql.exec cannot run %s: a call is one transaction, which Pawl begins and ends; it runs "+
				"%s and what sql.query runs", first[0], strings.Join(changers, ", "))
		case strings.Contains(strings.ToLower(s.text), `u&"`): // could spell any name
			return refuse("refused", "the statement has a name written as U&\"…\": write the name itself, and texts as "+
				"params")
		case mentions(s.text, t.table):
			return refuse("refused", "the statement names %s, the table in which Pawl notes what it has done: scripts do not "+
				"change it", t.table)
		}
		return nil
	}
	if !slices.Contains(readable, first[0]) {
		return refuse("refused", "sql.query only reads, and cannot run %s; it runs %s", first[0],
			strings.Join(readable[1:], ", "))
	}
	return nil
}

// run sends the statement in the extended protocol, which takes one statement only and no values in its text.
func (t *postgresTransaction) run(ctx context.Context, s statement, rows *table) (int64, error) {
	if failure := t.allowed(s); failure != nil {
		return 0, failure
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, err := t.send(ctx, s)
	if err != nil {
		return 0, err
	}
	affected, err := t.receive(result, rows)
	if err != nil {
		// What is still to come is not read: the server is told to stop, and the connection closed.
		cancel()
		_, _ = result.Close()
		return 0, err
	}
	if t.conn.TxStatus() != 'T' {
		return 0, connector.Failf(eventlog.Internal, "sql.transaction", "the statement has ended the transaction of its call")
	}
	return affected, nil
}

// send asks the server for the types of the placeholders only where the value does not tell how it is written.
func (t *postgresTransaction) send(ctx context.Context, s statement) (*pgconn.ResultReader, error) {
	types := make([]uint32, len(s.args))
	prepared := slices.ContainsFunc(s.args, func(arg any) bool {
		_, isList := arg.(list)
		return isList
	})
	if prepared {
		description, err := t.conn.Prepare(ctx, "", s.text, nil)
		if err != nil {
			return nil, err
		}
		if len(description.ParamOIDs) != len(s.args) {
			return nil, refuse("params", "the statement has %d placeholders, and params %d values",
				len(description.ParamOIDs), len(s.args))
		}
		types = description.ParamOIDs
	}
	values := make([][]byte, len(s.args))
	for i, arg := range s.args {
		value, err := postgresText(arg, types[i])
		if err != nil {
			return nil, refuse("params", "params[%d]: %v", i, err)
		}
		values[i] = value
	}
	if prepared {
		return t.conn.ExecPrepared(ctx, "", values, nil, nil), nil
	}
	return t.conn.ExecParams(ctx, s.text, values, nil, nil, nil), nil
}

// receive reads the answer to a statement.
func (t *postgresTransaction) receive(result *pgconn.ResultReader, rows *table) (int64, error) {
	fields := slices.Clone(result.FieldDescriptions())
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	if failure := rows.columns(names); failure != nil {
		return 0, failure
	}
	for result.NextRow() {
		row := make([]json.RawMessage, len(fields))
		for i, value := range result.Values() {
			if len(value) > connector.MaxResult*2 { // as hex it is twice as long
				return 0, tooBig()
			}
			row[i] = rows.postgresValue(value, fields[i].DataTypeOID)
		}
		if failure := rows.add(row); failure != nil {
			return 0, failure
		}
	}
	tag, err := result.Close()
	return tag.RowsAffected(), err
}

// mentions says whether a text has the name of a table in it, with or without its schema, as a word of its own.
func mentions(text, table string) bool {
	_, name, hasSchema := strings.Cut(table, ".")
	if !hasSchema {
		name = table
	}
	isPart := func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return slices.Contains(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isPart(r) }), name)
}

package sqlcall

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// maxLength is the most bytes that one value, row of a table or statement may have in SQLite, and maxColumns the
	// most columns of a result: the driver reads a whole row before its size is seen.
	maxLength  = 4 << 20
	maxColumns = 200
	// lockTimeout is longer than any call: a call that waits for a lock waits until its own time is over.
	lockTimeout = 24 * time.Hour
)

// sqliteFile is a database of SQLite.
type sqliteFile struct {
	path  string
	table string // of calls
	// reader opens the file for reading alone.
	reader, writer *sql.DB
	made           atomic.Bool // the table is there
}

// newSQLite opens nothing yet.
func newSQLite(path, table string) *sqliteFile {
	return &sqliteFile{path: path, table: table,
		reader: openSQLite(path, url.Values{"mode": {"ro"}, "_query_only": {"on"}}),
		// What is answered as committed is not lost with the power: FULL does not sync the folder that the journal is
		// deleted from, and a journal that comes back undoes the transaction.
		writer: openSQLite(path, url.Values{"mode": {"rw"}, "_foreign_keys": {"on"}, "_synchronous": {"EXTRA"}})}
}

func openSQLite(path string, settings url.Values) *sql.DB {
	settings.Set("_busy_timeout", strconv.FormatInt(lockTimeout.Milliseconds(), 10))
	settings.Set("_defensive", "1")
	settings.Set("_error_rc", "1") // an error says what it is about, and never what an earlier one was about
	// The driver takes a file that begins with a folder; on Windows that has a letter and no slash before it.
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: settings.Encode()}
	pool := sql.OpenDB(sqliteConnector(name.String()))
	pool.SetMaxIdleConns(idleConnections)
	pool.SetConnMaxIdleTime(idleTime)
	return pool
}

// sqliteConnector opens a file by its URL.
type sqliteConnector string

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

func (sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (f *sqliteFile) close() error { return errors.Join(f.reader.Close(), f.writer.Close()) }

func (f *sqliteFile) within(ctx context.Context, mode mode, use func(transaction) error) error {
	pool := f.writer
	if mode == reading {
		pool = f.reader
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	t := &sqliteTransaction{conn: conn, table: f.table, policy: &policy{mode: mode, table: f.table}}
	if err = t.begin(ctx); err == nil {
		err = use(t)
	}
	if !t.committed && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || t.undo() != nil) {
		t.drop()
	}
	return errors.Join(err, conn.Close())
}

// sqliteTransaction is a transaction on its connection.
type sqliteTransaction struct {
	conn   *sql.Conn
	table  string // of calls
	handle uintptr
	policy *policy

	committed bool
}

func (t *sqliteTransaction) begin(ctx context.Context) error {
	err := t.conn.Raw(func(driverConn any) error {
		guarded, ok := driverConn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return fmt.Errorf("the driver has a connection of the type %T", driverConn)
		}
		if t.handle = handleOf(driverConn); t.handle == 0 {
			return errors.New("the driver's connection cannot be interrupted")
		}
		return guarded.RegisterAuthorizer(t.policy.judge)
	})
	if err != nil {
		return err
	}
	if _, err := sqlite.Limit(t.conn, sqlite3.SQLITE_LIMIT_LENGTH, maxLength); err != nil {
		return err
	}
	begin := "BEGIN"
	if t.policy.mode != reading {
		begin = "BEGIN IMMEDIATE" // it waits until no other transaction writes
	}
	_, err = t.conn.ExecContext(ctx, begin)
	return err
}

// undo ends the transaction.
func (t *sqliteTransaction) undo() error {
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK")
	return err
}

// drop closes the connection, which undoes its transaction too.
func (t *sqliteTransaction) drop() {
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn }) // that is how it is asked for
}

func (t *sqliteTransaction) run(ctx context.Context, s statement, rows *table) (int64, error) {
	if several(s.text) {
		return 0, refuse("refused", "the text holds several statements; each call has one")
	}
	args := make([]any, len(s.args))
	for i, arg := range s.args {
		value, err := sqliteArgument(arg)
		if err != nil {
			return 0, refuse("params", "params[%d]: %v", i, err)
		}
		args[i] = value
	}
	before, err := t.changes(ctx)
	if err != nil {
		return 0, err
	}
	if err := t.perform(ctx, s, args, rows); err != nil || len(rows.keys) > 0 {
		return int64(rows.rows), err
	}
	after, err := t.changes(ctx)
	if err != nil || after.all == before.all {
		return 0, err // a statement that changes no rows leaves the number of the one before
	}
	return after.last, nil
}

// changed is how many rows the last statement has changed, and all statements of the connection, triggers included.
type changed struct{ last, all int64 }

func (t *sqliteTransaction) changes(ctx context.Context) (n changed, err error) {
	err = t.conn.QueryRowContext(ctx, "SELECT changes(), total_changes()").Scan(&n.last, &n.all)
	return n, err
}

// perform carries out a statement of a script and reads its rows.
func (t *sqliteTransaction) perform(ctx context.Context, s statement, args []any, rows *table) error {
	defer interruptAt(ctx, t.handle)()
	t.policy.begin(s)
	defer t.policy.end()
	result, err := t.conn.QueryContext(ctx, s.text, args...)
	if err != nil {
		if denied := t.policy.refused(); denied != nil {
			return denied
		}
		return err
	}
	return errors.Join(t.receive(ctx, result, rows), result.Close())
}

// receive reads the rows of a statement.
func (t *sqliteTransaction) receive(ctx context.Context, result *sql.Rows, rows *table) error {
	columns, err := result.ColumnTypes()
	if err != nil {
		return err
	}
	if len(columns) > maxColumns {
		return connector.Failf(eventlog.Logic, connector.CodeReadLimit,
			"the result has %d columns, and %d is the limit: name those that you need", len(columns), maxColumns)
	}
	names, types := make([]string, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		names[i], types[i] = column.Name(), column.DatabaseTypeName()
	}
	if failure := rows.columns(names); failure != nil {
		return failure
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for result.Next() {
		if err := result.Scan(into...); err != nil {
			return err
		}
		row := make([]json.RawMessage, len(columns))
		for i, value := range values {
			if row[i], err = rows.sqliteValue(value, types[i]); err != nil {
				return err
			}
		}
		if failure := rows.add(row); failure != nil {
			return failure
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

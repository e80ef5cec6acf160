package sqlcall

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// ready makes the table of calls, where it is missing. It makes no file: an empty one that is made while a disk is not
// mounted would later say that no call was made.
func (f *sqliteFile) ready(ctx context.Context) error {
	if f.made.Load() {
		return nil
	}
	if _, err := os.Stat(f.path); err != nil {
		return connector.Failf(eventlog.Precondition, "sql.file", "there is no database: %v; make an empty file for a new "+
			"one", err)
	}
	_, err := f.writer.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+quoted(f.table)+" (key TEXT NOT NULL PRIMARY KEY, "+
		"workflow TEXT NOT NULL, hash TEXT NOT NULL, result TEXT, at TEXT NOT NULL)")
	if err == nil {
		f.made.Store(true)
	}
	return err
}

// locate looks for the table of calls.
func (f *sqliteFile) locate(ctx context.Context) error {
	if f.made.Load() {
		return nil
	}
	if _, err := os.Stat(f.path); err != nil {
		return noTable(f.table, err.Error())
	}
	var found int
	err := f.writer.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", f.table).
		Scan(&found)
	if err == nil && found == 0 {
		err = noTable(f.table, "it was never made, or this is another file")
	}
	return err
}

// record writes in a transaction that has the file's only lock for writing.
func (t *sqliteTransaction) record(ctx context.Context, row callRow) (fresh bool, err error) {
	done, err := t.conn.ExecContext(ctx, "INSERT INTO "+quoted(t.table)+" (key, workflow, hash, result, at) "+
		"VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING", row.key, row.workflow, row.hash, row.result,
		time.Now().UTC().Format("2006-01-02 15:04:05"))
	if err != nil {
		return false, err
	}
	rows, err := done.RowsAffected()
	return rows == 1, err
}

func (t *sqliteTransaction) find(ctx context.Context, key string) (*callRow, error) {
	row := &callRow{key: key}
	err := t.conn.QueryRowContext(ctx, "SELECT workflow, hash, result FROM "+quoted(t.table)+" WHERE key = ?", key).
		Scan(&row.workflow, &row.hash, &row.result)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

// commit ends the transaction. An error is definite where SQLite says that the transaction is still open: a constraint
// that was put off until now, or a lock that another has. It is undone then.
func (t *sqliteTransaction) commit(ctx context.Context) (definite bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	_, err = t.conn.ExecContext(ctx, "COMMIT")
	t.committed = err == nil
	var said *sqlite.Error
	if errors.As(err, &said) {
		primary := said.Code() & 0xff
		return primary == sqlite3.SQLITE_CONSTRAINT || primary == sqlite3.SQLITE_BUSY, err
	}
	return false, err
}

package sqlcall

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// failure is what SQLite has answered, by its result code.
func (f *sqliteFile) failure(mode mode, err error) *eventlog.Failure {
	var said *sqlite.Error
	if !errors.As(err, &said) {
		return nil
	}
	primary := said.Code() & 0xff
	switch primary {
	case sqlite3.SQLITE_TOOBIG:
		return connector.Failf(eventlog.Logic, connector.CodeReadLimit, "a value or the statement has more than %d bytes, "+
			"which is the limit", maxLength)
	case sqlite3.SQLITE_CANTOPEN:
		return connector.Failf(eventlog.Precondition, "sql.file", "the file %s is not there or cannot be opened", f.path)
	}
	return connector.Failf(sqliteClass(primary), "sql.sqlite", "%v", said)
}

// sqliteClass is the class of a failure by its primary result code.
func sqliteClass(code int) eventlog.Class {
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PROTOCOL,
		sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_ABORT:
		return eventlog.Transient
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY:
		return eventlog.Permission
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN:
		return eventlog.Precondition
	case sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_MISUSE:
		return eventlog.Internal
	}
	return eventlog.Logic
}

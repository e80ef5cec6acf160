package sqlcall

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// callsColumns are the columns of the table of calls in PostgreSQL.
const callsColumns = "(key text PRIMARY KEY, workflow text NOT NULL, hash text NOT NULL, result text, " +
	"at timestamptz NOT NULL DEFAULT now())"

// quoted is a checked name as an identifier, with its schema if it has one.
func quoted(table string) string { return `"` + strings.ReplaceAll(table, ".", `"."`) + `"` }

// ready looks for the table of calls once, and makes it where it is missing. It has to be there before the
// transaction of a call: two first calls at once would otherwise each make it and fail.
func (p *postgres) ready(ctx context.Context) error {
	if p.calls.Load() != nil {
		return nil
	}
	calls, err := p.lookup(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		_, made := p.pool.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+quoted(p.table)+" "+callsColumns)
		calls, err = p.lookup(ctx) // another engine may have made it at the same time, which makes ours fail
		switch {
		case err != nil && made != nil:
			err = made
		case errors.Is(err, sql.ErrNoRows):
			return noTable(p.table, "Pawl made it, and it was gone at once")
		}
	}
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == "42501" {
		return connector.Failf(eventlog.Permission, "sql.42501", "the table in which Pawl notes what it has done is "+
			"missing and cannot be made: %s; make it with CREATE TABLE %s %s", said.Message, p.table, callsColumns)
	}
	if err != nil {
		return err
	}
	p.calls.Store(&calls)
	return nil
}

// locate looks for the table of calls.
func (p *postgres) locate(ctx context.Context) error {
	if p.calls.Load() != nil {
		return nil
	}
	calls, err := p.lookup(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return noTable(p.table, "it was never made, or search_path leads to another schema")
	}
	if err == nil {
		p.calls.Store(&calls)
	}
	return err
}

// lookup is the table of calls with its schema, in quotation marks.
func (p *postgres) lookup(ctx context.Context) (string, error) {
	var schema, table string
	err := p.pool.QueryRowContext(ctx, "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c "+
		"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass($1)", quoted(p.table)).
		Scan(&schema, &table)
	if err != nil {
		return "", err
	}
	quote := strings.NewReplacer(`"`, `""`)
	return `"` + quote.Replace(schema) + `"."` + quote.Replace(table) + `"`, nil
}

// own sends a statement of Pawl's own.
func (t *postgresTransaction) own(ctx context.Context, text string, args ...*string) *pgconn.Result {
	values := make([][]byte, len(args))
	for i, arg := range args {
		if arg != nil {
			values[i] = []byte(*arg)
		}
	}
	return t.conn.ExecParams(ctx, text, values, nil, nil, nil).Read()
}

// record relies on the unique key. ON CONFLICT fails where the table has none.
func (t *postgresTransaction) record(ctx context.Context, row callRow) (fresh bool, err error) {
	result := t.own(ctx, "INSERT INTO "+t.calls+" (key, workflow, hash, result) VALUES ($1, $2, $3, $4) "+
		"ON CONFLICT (key) DO NOTHING", &row.key, &row.workflow, &row.hash, row.result)
	return result.CommandTag.RowsAffected() == 1, result.Err
}

func (t *postgresTransaction) find(ctx context.Context, key string) (*callRow, error) {
	result := t.own(ctx, "SELECT workflow, hash, result FROM "+t.calls+" WHERE key = $1", &key)
	if result.Err != nil || len(result.Rows) == 0 {
		return nil, result.Err
	}
	values := result.Rows[0]
	row := &callRow{key: key, workflow: string(values[0]), hash: string(values[1])}
	if values[2] != nil {
		text := string(values[2])
		row.result = &text
	}
	return row, nil
}

// commit ends the transaction. An error is definite in two cases. First, nothing was sent: only the check before Exec
// can know that, since the library also calls an answer that was lost with its connection safe to retry. Second, the
// server says that it has undone the transaction for what is in it: a constraint or a trigger that was put off until
// now, or a conflict with another transaction. Every other error is not definite, since the server may have met it
// after the commit.
func (t *postgresTransaction) commit(ctx context.Context) (definite bool, err error) {
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	results, err := t.conn.Exec(ctx, durable+"; COMMIT").ReadAll()
	if err == nil && (len(results) != 2 || results[1].CommandTag.String() != "COMMIT") {
		return true, connector.Failf(eventlog.Internal, "sql.transaction", "the server has undone the transaction of the "+
			"call")
	}
	var said *pgconn.PgError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &said) && said.SeverityUnlocalized == "ERROR" && len(said.Code) == 5:
		switch said.Code[:2] {
		case "22", "23", "P0": // data, constraint, trigger
			return true, err
		}
		return said.Code == "40001" || said.Code == "40P01", err // serialization failure, deadlock; 40003 is not known
	}
	return false, err
}

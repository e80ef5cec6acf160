package sqlcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Read carries out a statement that changes nothing.
func (c *Connector) Read(ctx context.Context, call connector.Call) (json.RawMessage, error) {
	if call.Operation != "query" {
		return nil, connector.Failf(eventlog.Internal, connector.CodeKind, "sql.%s is not a read", call.Operation)
	}
	result, failure := c.query(ctx, call)
	if failure != nil {
		return nil, c.redact.Failure(failure)
	}
	return result, nil
}

// parseQuery checks the parameters of a query.
func (c *Connector) parseQuery(call connector.Call) (*database, statement, *eventlog.Failure) {
	var p struct {
		Database string            `json:"database"`
		SQL      string            `json:"sql"`
		Params   []json.RawMessage `json:"params"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, statement{}, failure
	}
	db, failure := c.database(p.Database)
	if failure != nil {
		return nil, statement{}, failure
	}
	s, failure := newStatement(p.SQL, p.Params)
	return db, s, failure
}

func (c *Connector) query(ctx context.Context, call connector.Call) (json.RawMessage, *eventlog.Failure) {
	db, s, failure := c.parseQuery(call)
	if failure != nil {
		return nil, failure
	}
	release, failure := db.enter(ctx, call, reading)
	if failure != nil {
		return nil, failure
	}
	defer release()
	rows := &table{budget: &budget{database: db.name, rows: db.rows, bytes: len(`{"rows":[]}`)}, redact: c.redact}
	err := db.backend.within(ctx, reading, func(t transaction) error {
		_, err := t.run(ctx, s, rows)
		return err
	})
	if err != nil {
		return nil, db.failure(ctx, call, reading, err)
	}
	return json.RawMessage(`{"rows":` + string(rows.json()) + "}"), nil
}

// failure is what an error means: one of our own, what the database has answered, the end of the call's time, or that
// the database cannot be reached.
func (db *database) failure(ctx context.Context, call connector.Call, mode mode, err error) *eventlog.Failure {
	var own *eventlog.Failure
	var inside *statementError
	if errors.As(err, &inside) {
		failure := *db.failure(ctx, call, mode, inside.err)
		failure.Message = fmt.Sprintf("statements[%d]: %s", inside.at, failure.Message)
		return &failure
	}
	if errors.As(err, &own) {
		return own
	}
	said := db.backend.failure(mode, err)
	if ended := connector.ContextFailure(ctx, call); ended != nil && (said == nil || said.Class == eventlog.Transient) {
		return ended
	}
	if said != nil {
		said.Message = "the database " + db.name + ": " + said.Message
		return said
	}
	return connector.Failf(eventlog.Transient, "sql.connection", "the database %s cannot be reached: %v", db.name, err)
}

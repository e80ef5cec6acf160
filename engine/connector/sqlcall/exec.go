package sqlcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// execCall is a call of exec that is checked.
type execCall struct {
	db         *database
	statements []statement
	// row is what the database keeps of the call, in the same transaction; without the result.
	row callRow
}

func (c *Connector) parseExec(call connector.Call) (execCall, *eventlog.Failure) {
	type text struct {
		SQL    string            `json:"sql"`
		Params []json.RawMessage `json:"params"`
	}
	var p struct {
		Database   string            `json:"database"`
		SQL        string            `json:"sql"`
		Params     []json.RawMessage `json:"params"`
		Statements []text            `json:"statements"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return execCall{}, failure
	}
	if call.Operation != "exec" {
		return execCall{}, connector.Failf(eventlog.Internal, connector.CodeKind, "sql.%s is not a mutation", call.Operation)
	}
	db, failure := c.database(p.Database)
	if failure != nil {
		return execCall{}, failure
	}
	if (p.SQL == "") == (len(p.Statements) == 0) || p.SQL == "" && p.Params != nil {
		return execCall{}, refuse("params", "give either sql, with params, or statements, each with sql and params")
	}
	if p.SQL != "" {
		p.Statements = []text{{SQL: p.SQL, Params: p.Params}}
	}
	hash := sha256.Sum256(call.Params)
	x := execCall{db: db, row: callRow{key: call.Key, workflow: string(call.Workflow), hash: hex.EncodeToString(hash[:])}}
	for i, given := range p.Statements {
		s, failure := newStatement(given.SQL, given.Params)
		if failure != nil {
			if p.SQL == "" {
				failure.Message = fmt.Sprintf("statements[%d]: %s", i, failure.Message)
			}
			return execCall{}, failure
		}
		x.statements = append(x.statements, s)
	}
	return x, nil
}

// Perform carries out the statements in one transaction, together with the row of the call.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	return c.redact.Outcome(c.exec(ctx, call))
}

func (c *Connector) exec(ctx context.Context, call connector.Call) connector.Outcome {
	x, failure := c.parseExec(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	release, failure := x.db.enter(ctx, call, changing)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer release()
	if err := x.db.backend.ready(ctx); err != nil {
		return connector.FailedWith(x.db.failure(ctx, call, changing, err))
	}
	var result json.RawMessage
	err := x.db.backend.within(ctx, changing, func(t transaction) (err error) {
		result, err = c.apply(ctx, call, x, t)
		return err
	})
	var open *openCommit
	switch {
	case err == nil:
		return connector.Outcome{Status: connector.Applied, Result: result}
	case errors.As(err, &open):
		failure := x.db.failure(ctx, call, changing, open.err)
		failure.Message += "; it is not known whether the transaction was committed"
		return connector.UncertainWith(failure)
	case errors.Is(err, errKnown):
		return c.repeated(ctx, call, x)
	}
	// It was not committed, and never will be: only the COMMIT of this transaction could have done it.
	return connector.FailedWith(x.db.failure(ctx, call, changing, err))
}

// errKnown says that the table already has a row with the key of the call.
var errKnown = errors.New("the key of the call is known")

// openCommit is the error of a COMMIT whose outcome is not known.
type openCommit struct{ err error }

func (o *openCommit) Error() string { return o.err.Error() }

// apply does the work of a call in its transaction. It checks twice whether the call may still be sent: before the
// first statement, and immediately before the COMMIT. If the second check fails, nothing takes effect.
func (c *Connector) apply(ctx context.Context, call connector.Call, x execCall, t transaction) (json.RawMessage,
	error) {
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return nil, failure
	}
	var results strings.Builder
	budget := &budget{database: x.db.name, rows: x.db.rows, bytes: len(`{"results":[]}`)}
	for i, s := range x.statements {
		rows := &table{budget: budget, redact: c.redact}
		affected, err := t.run(ctx, s, rows)
		if err != nil {
			return nil, inStatement(err, i, len(x.statements))
		}
		if i > 0 {
			results.WriteByte(',')
		}
		before := results.Len()
		fmt.Fprintf(&results, `{"affected":%d,"rows":`, affected)
		results.Write(rows.json())
		results.WriteByte('}')
		if budget.bytes += results.Len() - before - rows.text.Len() + 1; budget.bytes > connector.MaxResult {
			return nil, tooBig()
		}
	}
	result := `{"results":[` + results.String() + `]}`
	x.row.result = &result
	fresh, err := t.record(ctx, x.row)
	if err != nil {
		return nil, err
	}
	if !fresh {
		return nil, errKnown
	}
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return nil, failure
	}
	if definite, err := t.commit(ctx); err != nil {
		if definite {
			return nil, err
		}
		return nil, &openCommit{err}
	}
	return json.RawMessage(result), nil
}

// inStatement names the statement that an error is about, where there are several.
func inStatement(err error, i, of int) error {
	if of == 1 {
		return err
	}
	return &statementError{at: i, err: err}
}

// statementError is an error in one of several statements.
type statementError struct {
	at  int
	err error
}

func (s *statementError) Error() string { return fmt.Sprintf("statements[%d]: %v", s.at, s.err) }

func (s *statementError) Unwrap() error { return s.err }

// repeated is the outcome of a call whose key is known: the first answer again, or that it was given up.
func (c *Connector) repeated(ctx context.Context, call connector.Call, x execCall) connector.Outcome {
	var known *callRow
	err := x.db.backend.within(ctx, asking, func(t transaction) (err error) {
		known, err = t.find(ctx, call.Key)
		return err
	})
	switch {
	case err != nil:
		return connector.FailedWith(x.db.failure(ctx, call, asking, err)) // this request changed nothing
	case known != nil && known.result != nil && known.hash == x.row.hash:
		return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(*known.result)}
	case known != nil && known.result != nil:
		return connector.FailedWith(x.otherCall())
	}
	return connector.FailedWith(connector.Failf(eventlog.Transient, codeGivenUp,
		"the database %s: an earlier check settled this call as failed, so it is not carried out", x.db.name))
}

// otherCall is the failure of a call whose key belongs to a call with other parameters.
func (x execCall) otherCall() *eventlog.Failure {
	return connector.Failf(eventlog.Internal, codeKey, "the database %s has another call with the same key", x.db.name)
}

const (
	// codeGivenUp is the failure of a call that was settled as failed before it came to its end.
	codeGivenUp = "sql.givenUp"
	// codeKey is the failure of a call whose key the database knows with other parameters.
	codeKey = "sql.key"
)

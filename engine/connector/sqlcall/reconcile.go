package sqlcall

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// retention is the age from which a row of the table of calls may be deleted. margin is how far clocks may differ.
// Reconcile concludes nothing from a missing row if the call is older than retention less margin.
const (
	retention = 30 * 24 * time.Hour
	margin    = 24 * time.Hour
)

// CallEnding says that Pawl need not wait for the end of a call before it asks: Reconcile answers failed only when the
// call can never take effect.
func (c *Connector) CallEnding(connector.Call) connector.Ending { return connector.Ending{} }

// Reconcile says whether the call's transaction was committed. Its row was written in that transaction: where the row
// is, the rest is too. Where it is not, a row is put in its place that says "given up", and only when that row is
// committed the answer is failed. The key is unique, so of the two rows only one can ever be committed. A call that
// is still under way and has written its row already makes this one wait for its end; one that has not
// yet finds the key taken then, and undoes what it did.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	answer := c.reconcile(ctx, call)
	answer.Failure = c.redact.Failure(answer.Failure)
	return answer
}

func (c *Connector) reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	x, failure := c.parseExec(call)
	if failure != nil {
		return connector.RetryWith(failure)
	}
	// The table is not made here: one that is missing, such as in a folder whose disk is not there, says nothing of the
	// call, and an empty one would say that it was not carried out.
	if err := x.db.backend.locate(ctx); err != nil {
		return connector.RetryWith(x.db.failure(ctx, call, asking, err))
	}
	var known *callRow
	gaveUp := false
	forgotten := time.Since(call.StartedAt) > retention-margin
	err := x.db.backend.within(ctx, asking, func(t transaction) (err error) {
		if !forgotten {
			gaveUp, err = t.record(ctx, x.row) // without a result
			if err != nil {
				return err
			}
		}
		if gaveUp {
			_, err = t.commit(ctx)
			return err
		}
		known, err = t.find(ctx, call.Key)
		return err
	})
	switch {
	case err != nil:
		return connector.RetryWith(x.db.failure(ctx, call, asking, err))
	case gaveUp:
		return c.notApplied(x, "it has no row of the call")
	case known == nil:
		return connector.RetryWith(connector.Failf(eventlog.Precondition, "sql.forgotten",
			"the database %s has no row of the call; rows may be deleted after %d days, so a missing row does not show that "+
				"nothing was done", x.db.name, int(retention/(24*time.Hour))))
	case known.hash != x.row.hash:
		return connector.RetryWith(x.otherCall())
	case known.result == nil:
		return c.notApplied(x, "an earlier check settled it so")
	}
	return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: json.RawMessage(*known.result)}
}

func (c *Connector) notApplied(x execCall, why string) connector.Reconciliation {
	return connector.Reconciliation{Verdict: connector.VerdictFailed, Failure: connector.Failf(eventlog.Transient,
		connector.CodeNotApplied, "the database %s has not carried out the call, and never will: %s", x.db.name, why)}
}

package sqlcall

import (
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// database is one configured database.
type database struct {
	name    string
	timeout time.Duration
	rows    int
	// places bound the calls at the database.
	places *turn.Queue
	// writes let one call at a time change a file of SQLite, which has one lock for that; nil for a server.
	writes *turn.Queue
	// turns bound the calls at all files of SQLite; nil for a server, and for no bound.
	turns   *turn.Queue
	backend backend
}

// backend is the program that keeps a database.
type backend interface {
	// ready makes the table of calls, where it is missing.
	ready(ctx context.Context) error
	// locate makes nothing: it fails where the table of calls is missing.
	locate(ctx context.Context) error
	// within opens a transaction on a connection that no other call uses, and hands it to use. If use does not commit,
	// the transaction is undone.
	within(ctx context.Context, mode mode, use func(transaction) error) error
	// failure is what an error of the backend means; nil for an error that is not one of its own.
	failure(mode mode, err error) *eventlog.Failure
	close() error
}

// mode is what a transaction is for.
type mode int

// The modes of transactions.
const (
	// reading changes nothing: the database refuses every change.
	reading mode = iota
	// changing carries out the statements of a mutation.
	changing
	// asking finds out what became of a mutation.
	asking
)

// transaction is one open transaction.
type transaction interface {
	// run carries out one statement of a script and puts its rows into the table. It returns how many rows the statement
	// has changed or returned.
	run(ctx context.Context, s statement, rows *table) (affected int64, err error)
	// record writes the row of a call; fresh is false if a row with its key exists already. If another open transaction
	// has written such a row, record waits until that transaction ends.
	record(ctx context.Context, row callRow) (fresh bool, err error)
	// find reads the row with the key; nil if there is none.
	find(ctx context.Context, key string) (*callRow, error)
	// commit commits the transaction. If it returns an error, definite says that the transaction was not committed and
	// never will be.
	commit(ctx context.Context) (definite bool, err error)
}

// callRow is a row of the table of calls.
type callRow struct {
	key, workflow string
	// hash is that of the parameters of the call.
	hash string
	// result is what the call returned; nil means that the call was given up and can never be carried out.
	result *string
}

// enter waits for the call's turns in half of its time: where it changes a file, for the file's lock for writing, then
// for a place at the database, and last for the turn at SQLite. In this order a call that waits for its own file takes
// nothing that calls to other files need. release gives the turns back.
func (db *database) enter(ctx context.Context, call connector.Call, mode mode) (release func(),
	failure *eventlog.Failure) {
	ctx, cancel := turn.FirstHalf(ctx)
	defer cancel()
	queues := []*turn.Queue{db.places, db.turns}
	if mode == changing {
		queues = []*turn.Queue{db.writes, db.places, db.turns}
	}
	var taken []*turn.Turn
	release = func() {
		for _, own := range slices.Backward(taken) {
			own.End()
		}
	}
	for _, queue := range queues {
		own, failure := queue.Take(ctx, call)
		if failure != nil {
			release()
			return nil, failure
		}
		taken = append(taken, own)
	}
	return release, nil
}

// newTurns makes the queue of all calls at SQLite.
func newTurns(places int) *turn.Queue {
	return turn.New(turn.Bounds{Target: "SQLite", Places: places, PlacesFrom: "a bound of the sql connector"})
}

// Waiting lists the workflow's calls that wait for their turn, by what they wait for and run.
func (c *Connector) Waiting(workflow eventlog.WorkflowName) []connector.Waiting {
	queues := []*turn.Queue{c.turns}
	for _, db := range c.databases {
		queues = append(queues, db.places, db.writes)
	}
	return turn.Waiting(workflow, queues...)
}

// noTable is the failure of a question about a call where the table of calls is missing.
func noTable(table, why string) *eventlog.Failure {
	return connector.Failf(eventlog.Precondition, "sql.noTable",
		"the table %s, in which Pawl notes what it has done, is not there: %s", table, why)
}

// Package sqlcall is the `sql` connector: it reads from and changes databases of PostgreSQL and SQLite that the
// configuration names.
//
// What it guarantees:
//
//   - A query changes nothing. Its transaction is read-only in PostgreSQL and is never committed; in SQLite the file is
//     opened read-only, and SQLite's authorizer refuses each action that does not only read. A query is one statement:
//     a text with several statements is refused.
//   - An exec takes effect at most once, and as a whole: its statements are carried out in one transaction, together
//     with a row in a table of Pawl's own that has the key of the call, the hash of its parameters, its result and the
//     time. So Reconcile finds out what became of every call, for as long as the row is kept. Why that holds is said
//     below.
//   - A failure before the COMMIT is definite. The COMMIT is sent only after a last look at the deadline and the right
//     to send; its outcome is uncertain unless the database answers that it has or has not been carried out.
//   - A statement that would end the transaction or lead out of it is refused by its name, before anything is
//     committed. In SQLite the authorizer refuses it. In PostgreSQL its first word decides, and the extended protocol
//     takes only one statement at a time. Neither database commits by itself.
//   - Values are bound to placeholders and never become a part of the text of a statement.
//   - What a call returns is bounded by rows and bytes, and so is what is read into memory for it. A statement ends
//     with its call, in SQLite by an interrupt, in PostgreSQL by a cancellation and by the server's own timeouts.
//   - Queries and execs take turns by workflow at their database, as package turn gives them, and execs of one file of
//     SQLite come one after the other. SQLite works in this process, so calls at all its files also take turns
//     together, which leaves processors to the rest of the engine. A call takes that turn last: while it waits for its
//     database, calls at other files go on. Questions about calls, which look for one row, have no turns.
//   - Nothing of a call stays on its connection for the next one: no setting, lock or temporary table.
//   - Only the configuration says where a server is, how it is reached and with which password; the environment and the
//     files that PostgreSQL's own programs read do not. The certificate of a server beyond this machine is verified,
//     unless sslmode says otherwise; then no method of authentication is used that shows the password to the server.
//   - Passwords are blanked out of every result and failure, as is each value that was filled in from outside the
//     configuration.
//
// Why Reconcile's answers hold. The key is unique in the table. The row of a call becomes visible with its transaction
// and not before, so where the row has a result the call was applied, and that was its result. Where there is no row,
// Reconcile writes one without a result and commits it, and answers failed only then. Of the two rows only one can be
// committed: if the call's own is there and not committed yet, the database lets Reconcile wait for the end of that
// transaction; if it comes later, it finds the key taken, and the call undoes everything. So the answer needs no clock
// and no assumption about connections: a COMMIT that is still on its way, a server that has not noticed that a
// connection is gone and an engine that was suspended all lead to one of the two rows. In SQLite both transactions
// begin with the file's only lock for writing, which a file server has to keep as a local disk does. Reconcile never
// makes the table: where it is missing, nothing is known of the call.
//
// Rows are kept until the operator deletes them. 30 days is early enough: Reconcile concludes nothing from the absence
// of a row of a call that began longer ago than that, less a day for clocks that disagree.
//
// The class of a failure follows from its SQLSTATE or result code, see [postgresClass] and [sqliteClass]. A missing
// connection, a shutdown, a deadlock, a full disk and the end of the call's time are transient. A refused login is
// auth, a missing privilege is permission, and a missing database is precondition. In all other cases the statement
// itself is wrong, also when a constraint refuses it: that is logic.
//
// Not guaranteed: that a function which a statement calls changes nothing outside of the transaction. The privileges of
// the PostgreSQL role decide which functions it may call, and whether dynamic SQL can change the table of calls;
// statements that name this table are refused. Not guaranteed either: that a server keeps what it has committed. A
// standby that takes over without the last transactions, a restored backup or another database under the same name has
// other rows. Nor that a call which has its turn at SQLite works all the time: it keeps the turn while it waits for a
// lock of another program or of a question. Where the file has no write-ahead log, a COMMIT waits for the queries
// before it too, and later queries wait for the COMMIT.
package sqlcall

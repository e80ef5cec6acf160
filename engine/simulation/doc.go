// Package simulation runs whole engines against a world in which everything goes wrong, from a
// seed, in one process and in no real time.
//
// Real are the engine with its workers and loop, the decisions, the folds, the local store and
// the memory log with its fences. Simulated are the scripts, the connectors, the clock, the
// operators, who hang up at any moment, and what happens to processes: an append's acknowledgement is lost and
// settled by the log itself or by the engine, an append is refused, the disk is full or too short for new
// work, a process dies before or after an append, in a script or in a call, it freezes and goes on later,
// and a second engine works on the same log while the first still lives. The connector goes away and comes
// back, or is another one then.
//
// How a seed repeats: everything the engines ask of the outside (an append, a call, a reconcile, a
// script) parks at a gate. One driver waits until every goroutine is blocked, checks the
// invariants, and then makes one move: it releases one parked operation with the outcome it drew,
// lets an operator ask for something, moves the clock, or does something to a process. Between
// two moves one chain of events runs, so the seed fixes the whole history: the workflows, all
// outcomes, every operator's action, and the order. It does not fix the text of ids.
//
// A worker often calls mutate with the prepare that reserves events, and sometimes leaves that to the engine. Both are
// one history: what prepare returned is on record alike, a call is that of the run's own prepare and for events that
// the run has reserved, mutate is not called twice, and its failure is not that of prepare.
//
// After every move it holds that: a mutation's request leaves once at most, after its start was durable, with the
// recorded bytes; no event sees more effects than people's words and redrives account for, and an id of which a loss
// has left no trace is that of a new event once a person allows calls again; every acknowledged push is in the log; no
// event is consumed twice or orphaned; an unresolved mutation keeps its events reserved; phases only move forward; a
// retry chain sees one result; the log folds; what an engine holds in memory is the fold of its log, and reaches as
// far as it has written itself, whether or not the caller still waits; it takes no more of the log for dealt with than
// it has read, and its store's checkpoint covers no more; what was refused with a time to come again is left alone
// until then and counts against nothing; and a worker that does nothing owes nothing and says why. Once the faults
// stop, operators help and everything must come to rest with nothing left to do. In some seeds one of the engines that
// ran before does that, and has to find out what the others have written.
//
// A receiver may be busy with a request for some time after its call has ended, and may say meanwhile that there is no
// trace of it: no call is recorded as failed before that is over, also where the process that made it has died. A
// connector may listen on after the deadline, to a bounded number of calls: before such an exchange has ended, such an
// answer does not count either. In one of five seeds a receiver knows calls by their keys: then the same is sent again,
// each time behind a record, within its time, once nothing of it can be under way. Some seeds make happen again and
// again what seldom comes together by chance (Focus).
//
// In two of five seeds consumers may be concurrent, with keys, rates and limits of attempts that deploys change; their
// target goes down and comes back. There it holds as well that no two runs that are not over have one event; that as
// many are active as there are places, of a key the oldest first, retries on half of the places at most; that what
// failed is held, hidden until a time or discarded, and is given to no run before that ends; that what is held is held
// for what its run and its call say, is named where the engine says what it waits for, and is freed by each way out
// that there is; that three first failures in a row, counted apart from the engine's own count, and no others, let the
// consumer probe, one run at a time, until a run has done its work; and that three calls in a row whose outcome is not
// known let nothing begin.
//
// A record may become unreadable, messages may be missing in the sequence of a stream, or the end of the log may not
// be known to be whole: then every process ends, a person accepts the loss, and what stands after it is set aside.
// From then on the ledger still knows every request that has left, and was reported to that person; an event that has
// had its effect waits no more.
//
// With Focus Sharing the engines share the partitions by leases, and ask each other (packages lease and network).
// They stand still for longer than a lease, also right before a first byte; they are cut off from the leases, from
// each other, from the log, or from all of these; they follow late; and the clock of one machine is set by an
// hour. There it holds as well that no partition is taken while another engine can hold it, and epochs grow; that
// a request leaves only from the engine that holds the partition, in the epoch in which its start was decided;
// that a read which waits for what its client has seen shows no less; and that an engine which is left alone comes
// to own everything. Clocks are set in seeds without concurrent consumers only, whose order in time the judge checks by
// one clock.
//
// Not simulated: JetStream, scripts in JavaScript, and what two
// goroutines of one engine do to each other between two moves: for that there is the race detector
// and the tests of the engine itself.
package simulation

// Package engine runs workflows: it performs what decide.Owed says a workflow owes the world and records what came of
// it.
//
// Guaranteed:
//
//   - State changes in one way only: a decision is appended to the log at the workflow's head,
//     and applied once the log has it. Recovery is replay and the same loop.
//   - A mutation leaves from one line (Connectors.Perform in perform, send.go), after the transition that says so is
//     durable, before the deadline that transition carries, and never twice. stillOurs is the last look at lease and
//     deadline.
//   - What became of a mutation is recorded whatever happened to its run meanwhile, for as long
//     as the process lives.
//   - A workflow whose past cannot be folded stops alone, loudly; the others go on.
//
// On a busy engine a run that only looks whether anything is left waits a moment for the next event
// ([Config.Linger]): that event then costs one run instead of two. Any other change of the
// workflow ends the wait.
//
// Each workflow has three parts. Its aggregate holds the state and the one way to change it, record; per workflow only
// that is serialized. Its runner steps: it looks at the state, runs scripts and reports. Its calls are the mutations
// that have left. Scripts, calls and reconciles run while other things are recorded, so events and operator actions are
// taken while a run is busy; what waits to be recorded is recorded together (C10, proposal.go). Where a consumer is
// concurrent (C1), the scripts of several runs are at work at once as the runner's tasks (step.go). step.go also
// describes the way of a request.
//
// Where damage is met: stop (aggregate.go) ends the work of a workflow with a record that cannot be followed; the check
// of the whole log (audit.go) holds one with a damaged past; what a person accepts as lost is given up by
// package engine/loss.
//
// In a cluster each partition has one owner at a time (tenure.go). The others follow it into their stores (watch.go),
// and send it what is to be recorded (route.go); without the lease an engine records nothing but what became of its
// calls. A request leaves only under the lease in which its start was decided. An owner copies how far the log is
// acknowledged to a place that outlives its node, and the next owner compares the log with that before anything leaves
// (keepMark and checkMark in tenure.go). What one engine does for all, such as the feed, is done by the owner of
// partition 0 (Config.Duties). Composing such an engine takes a [lease.Keeper] on the bucket of leases
// (eventlog/jslog/bucket) and a peer.Peers on the engine's connection, as Config.Leases and Config.Peers; Run keeps the
// leases and gives them back in the end. Without them the engine owns everything. Not guaranteed there yet: that a
// workflow goes on where it is read alone, as after a conflict, and the replica that answers is damaged. Where a whole
// partition is read, the leader is asked for what a replica lacks.
//
// An engine's life from its start to its end is run.go. settlement.go records the outcome of a call. Where no outcome
// is known, it asks the connector. The checkpoint of what is folded is written and trusted by writebehind.go; what no
// longer has to be in memory leaves it after that (aggregate.go, package engine/memory) and comes back by backlog.go.
//
// The packages below:
//   - process: what all workflows share, and Config
//   - decide: all rules, pure
//   - schedule: times and policies
//   - deploy: whether a script may replace another
//   - handler: one call of a script
//   - connector: the outside
//   - hook, secret: what requests are verified by
//   - underway: calls that have left
//   - capability: grants
//   - hint: what to do next
//   - lease, peer: a cluster
//   - rehearsal: `pawl test`
//   - recording, effectdiff, difference: `pawl diff`
//   - runlog: the lines that scripts log
//   - checkpoint: how far the log is dealt with
//   - memory: what the engine keeps of one workflow
//   - loss: a damaged past that a person gives up
//   - clock, signal, ids: time, waiting, fresh ids
//
// Tests that live through everything are in lifecycle, cluster and simulation; enginetest starts their engines.
//
// Not guaranteed: that a script runs only once. Prepare and next may run again after a crash;
// what they buffered is visible only with the commit.
package engine

// Package engine runs workflows: it performs what decide.Owed says a workflow owes the world and records what came of
// it.
//
// Guaranteed:
//
//   - State changes in one way only: a decision is appended to the log at the workflow's head,
//     and applied once the log has it. Recovery is replay and the same loop.
//   - A mutation leaves from one line (Connectors.Perform in perform, send.go), after the transition that says so is
//     durable, before the deadline that transition carries, and never twice, except to a host that is configured to
//     know it by its key (F5). stillOurs is the last look at lease and deadline.
//   - What became of a mutation is recorded whatever happened to its run meanwhile, for as long
//     as the process lives.
//   - A workflow whose past cannot be folded stops alone, loudly; the others go on.
//
// Each workflow has three parts. Its aggregate holds the state and the one way to change it, record. Its runner steps:
// it looks at the state, runs scripts and reports. Its calls are the mutations that have left. The aggregate's lock is
// held while it records or follows the log and while paged-out events are read, never while a script computes or a call
// is open. So events and operator actions are taken while a run is busy, and what waits to be recorded is recorded
// together (C10, proposal.go). Where a consumer is concurrent (C1), the scripts of several runs are at work at once as
// the runner's tasks (step.go, package engine/runtask). step.go also describes the way of a request.
//
// After work, a consumer runs once more to see that nothing is left (S3). On a busy engine that last run is delayed a
// little ([Config.Linger]): an event that comes meanwhile then costs one run instead of two. Any change of the workflow
// ends the delay.
//
// Where damage is met: stop (aggregate.go) ends the work of a workflow with a record that cannot be followed; the check
// of the whole log (audit.go) holds one with a damaged past; what a person accepts as lost is given up by
// package engine/loss.
//
// In a cluster each partition has one owner at a time. Who owns it, and the 20 s after which another engine may take
// it, is package lease; tenure.go takes partitions over and gives them back. Without leases an engine owns everything.
//
//   - The other engines follow the owner into their stores (watch.go), and send it what is to be recorded (route.go).
//   - Without the lease an engine records nothing but what became of its calls. A request leaves only under the lease
//     in which its start was decided.
//   - An owner copies how far the log is acknowledged to a place that outlives its node. The next owner compares the
//     log with that before anything leaves (keepMark and checkMark in tenure.go).
//   - What one engine does for all, such as the feed, is done by the owner of partition 0 (Config.Duties).
//   - Not guaranteed yet: when one workflow is read alone, as after a conflict, and a damaged replica answers, that
//     workflow stops. Where a whole partition is read, the leader is asked for what a replica lacks.
//
// An engine's life from its start to its end is run.go. settlement.go finds out what became of a call and reports it.
// The rules for that are in engine/decide: settlement.go (the answer), reconcile.go (when to ask again) and
// resolution.go (a person's word). The lost acknowledgement of an append is another thing: eventlog/jslog/confirm.go.
//
// The checkpoint of what is folded is written and trusted by writebehind.go; what no longer has to be in memory leaves
// it after that (aggregate.go, package engine/memory) and comes back by backlog.go.
//
// The packages below:
//   - process: what all workflows share, and Config
//   - decide: all rules, pure
//   - schedule: times and policies
//   - deploy: whether a script may replace another
//   - handler: one call of a script
//   - connector: the outside
//   - hook: how a webhook is verified
//   - secret: the named secrets of the configuration
//   - underway: calls that have left
//   - capability: grants
//   - hint: what to do next
//   - lease, peer: a cluster
//   - rehearsal: `pawl test`
//   - recording, effectdiff, difference: `pawl diff`
//   - runtask: the scripts and questions that are at work
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

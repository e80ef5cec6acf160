// Package decide holds the rules: what a command does to a workflow, and what a workflow still
// owes the world. It is pure: no context, clock, randomness, logger or I/O. RULES.md lists the rules by
// the ids that code and tests cite, each with its tests.
//
// [Decide] turns a state and a command into the facts of one transition. What a rule may know is in its arguments:
// time, ids and chance come in [Env]; history that a rule or the fold of a fact looks at and that is not in memory
// comes into the state: [Lookups] lists what can be read before, and Decide asks for the rest by a
// [projections.Missing]. [Owed] names all that a state still owes the world, or says what it waits for, from a closed
// list of reasons; [Next] is the part of the plain handlers, which owe one thing at a time.
//
// The files, by what they decide:
//
//   - next, concurrent and reason: what a state owes, and why it waits
//   - decision: the transition in the making, and its answers
//   - prepare, preparedjson, commit, publish, failure, backoff, oneevent and repair: what becomes of runs, events and
//     handlers
//   - mutation, settlement, reconcile and resolution: calls, and what became of them
//   - event, deploy, workflow, installation, loss and remains: the other commands
//   - start: which run starts
//   - decide: drives them
//
// A workflow is blocked (people read that the system holds it) by block in decision.go: failure.go for the class of a
// failure (F7), backoff.go for too many transient failures, repair.go for a spent budget, reconcile.go for a call that
// waits for an approval or whose outcome is not known, settlement.go for a late answer that contradicts. After a loss
// of a part of the log, loss.go and deploy.go block it. An event is held by holdEvent in oneevent.go (C5); that is
// another thing. The sentences that people read are in ops/explain/blocked.go and ops/explain/held_events.go.
//
// What becomes of a failed run: failure.go chooses; backoff.go (plain handlers, and a target that is down) and
// oneevent.go (concurrent consumers) say when it is tried again; engine/schedule/backoff.go how long that is.
//
// A transition lists everything that became true: when the state after a command's facts owes
// the start of a run, the same transition starts it. That happens in one place.
//
// A command that cannot be carried out is answered with a [Refusal] and changes nothing. The
// outcome of work whose run is no longer active is [ErrStale] and dropped, except the settlement
// of a mutation, which is always recorded.
//
// Guaranteed, and tested through random histories: a decision's facts can always be folded, also
// by a replay that holds nothing but live work; no reservation is ever without a run that holds
// it; no mutation starts twice; a state that owes a run never waits; and from every state that is
// not archived good outcomes and a person's help lead to rest.
//
// Not guaranteed: that [Env] tells the truth. Ids must be fresh, and a clock that goes back delays
// what is due. Nor that what a script returned fits into a transition: the code that appends it checks
// its size.
//
// How do I add a rule? Take the next number in RULES.md and write the rule there. Write its script in testdata/rules, a
// list of commands and of the facts that they must lead to; script_test.go has the words of it. Only the commands are
// written by hand: `go test ./engine/decide -run TestRules/R01 -rewrite` writes the facts behind each ----. Read each
// one. Cite the id at the line that keeps the rule.
//
// How do I add a command? Give it the method of [Command], and look whether it needs a case in each switch over
// commands: Decide, refuseMisplaced and Lookups here, mayShare in engine/proposal.go.
package decide

// Package decide holds the rules: what a command does to a workflow, and what a workflow still
// owes the world. It is pure: no context, clock, randomness, logger or I/O. RULES.md lists the rules by
// the ids that code and tests cite, each with its tests.
//
// [Decide] turns a state and a command into the facts of one transition. What a rule may know is in its arguments:
// time, ids and chance come in [Env]; history that a rule or the fold of a fact looks at and that is not in memory
// comes into the state: Decide asks for it by a [projections.Missing]. [Owed] names all that a state still owes the
// world, or says what it waits for, from a closed list of reasons; [Next] is the part of the plain handlers, which owe
// one thing at a time.
//
// The files stand in layers, each using those before it: what a state owes, and why it waits; the transition in the
// making, and its answers; what becomes of runs, events and handlers; what became of a call; the commands; which run
// starts; and decide.go, which drives them.
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
// list of commands and of the facts that they must lead to. Cite the id at the line that keeps it.
//
// How do I add a command? Give it the method of [Command], and look whether it needs a case in each switch over
// commands: Decide and refuseMisplaced here, mayShare in engine/proposal.go.
package decide

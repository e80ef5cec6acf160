// Package lint judges the text of a workflow script before it runs. It runs nothing. Each file is one check, except
// these five, which walk the script for the others: handlers (the handlers of the workflow), uses (what they touch of
// ctx), written (the parameters of their calls), madecalls (what a function calls with its ctx) and codeafter (what the
// text has after each mutation call, for onecall).
//
// What several checks need stands below: package finding lists the problems, and package flow follows a value that is
// handed on. What needs no handler is judged in package global (names) and package onecall (R4).
//
// Guaranteed:
//   - An error is what certainly fails when it is reached; a warning is what an author will hardly have meant.
//   - Each problem has a code, the place in the author's file where that is known, and a fix in words.
//   - One script has at most finding.MaxProblems problems and one that counts the others, errors before warnings.
//
// The codes, and the file of each:
//
//	phase.forbidden            handlers.go     a function of ctx that the phase table does not allow in this phase (R8)
//	topic.unknown              topics.go       a publish to a topic that is not declared
//	topic.notSubscribed        topics.go       a peek at a topic that the consumer does not subscribe to
//	publish.invalid            publish.go      an event that ctx.publish refuses
//	publish.unknownMember      publish.go      a member of an event that means nothing
//	publish.messageIdRandom    messageid.go    a message id that each run makes anew (R11)
//	publish.messageIdConstant  messageid.go    a message id that is always the same (R11)
//	publish.messageIdRepeats   messageid.go    a message id that all turns of a loop share (R11)
//	publish.stringified        publish.go      a payload that is a text of JSON
//	event.unknown              values.go       an event taken for its payload
//	event.list                 values.go       a list of events taken for one
//	payload.unknown            payload.go      a member that no payload that the script publishes has
//	data.unknown               handover.go     a member that prepare does not put into data
//	state.neverReturned        state.go        a state that is read and never returned (R13)
//	state.neverRead            state.go        a state that is returned and never read
//	state.unknown              state.go        a member that the returned state never has
//	value.notJSON              notjson.go      a value of which JSON keeps nothing
//	next.feedsItself           feedback.go     an event that makes another one without end
//	approval.result            handlers.go     an approval that answers with a promise
//	move.nameAlone             messageid.go    a file that is moved to a path of its name alone
//	input.invalid              arguments.go    an input that ctx.registerInput refuses
//	call.params                arguments.go    parameters that are not one object
//	call.notAwaited            awaits.go       a promise that nothing waits for
//	call.catch                 awaits.go       a catch for a failure that cannot be caught (R7)
//	connector.unknown          loose.go        a member that ctx does not have
//	connector.dynamic          loose.go        an operation that is only named while the script runs
//	ctx.assigned               loose.go        an assignment to ctx
//	handler.parameter          handover.go     a parameter that nothing is given for
//	prepared.unknown           handover.go     a member that prepare does not return
//	next.unguarded             emptyrun.go     a member of data or of a result that may be absent (R3)
//	mutationResult.unknown     outcome.go      a member or a status that a mutation result never has
//	prepare.result             result.go       what prepare returns is no result (R19)
//	prepare.reservations       reservation.go  a reservation that reserves nothing
//	prepare.unknownMember      result.go       a member of the result that means nothing
//	prepare.wakeAt             result.go       a time that is ignored (S4, C6)
//	reservation.wider          width.go        all events reserved, and the first one used
//	reservation.narrower       width.go        one event or a part of them reserved, and all of them used
//	reservation.half           reserved.go     an event of a topic used of which none is reserved
//	reservation.never          reserved.go     a topic of which no event is ever reserved
//	reservation.unknown        reservation.go  a reservation of a topic that the consumer does not subscribe to
//	concurrency.state          state.go        a state that a consumer with concurrency returns or reads (C4)
//	concurrency.key            payload.go      a key that no published payload has (C2)
//	ui.title                   title.go        a mutation without a title for people
//	title.constant             title.go        mutations, or in publish.go events, that people cannot tell apart
//	mutate.codeAfter           onecall         code behind the mutation call, which never runs (R4)
//	mutate.secondCall          onecall         a second mutation call, which is never sent (R4)
//	mutate.loop                onecall         a mutation call in a loop, which is sent once (R4)
//	global.absent              global          a name that other places have and Pawl has not
//	global.unknown             global          a name that nothing declares
//	global.shared              global          a variable that does not outlive the handler call
//	script.problems            finding         how many problems are not listed
//	limit.checks               handlers.go     a text that would keep the checks at work for long
//
// The codes of the definition (shape.*) are those of package vm, which reads it; shape.unknownKey is also one of
// result.go and of arguments.go (an option of ctx.peek). script.syntax, script.import and script.suspicious are those
// of package script.
//
// How do I add a check? Give it a file with its noun as name, and a method of collector. Call that from handlers.go:
// from consumer for what concerns one consumer, from judge for each use of ctx. Write its code and its file into the
// table above, and its code and the mistake into the table of SCRIPTS.md, where a test of cmd/pawl makes each mistake
// (authorspage_refusals_test.go). Write what it finds into worker/testdata/problems.
package lint

// Package sandbox is the contract between an engine and what runs its workflow scripts: a script's source and
// definition, the phases and what each may do, the limits, the host that a call asks, its result and its failures.
// It runs nothing and imports no part of what does:
//
//	script   turns a text into a program, and shows what the text says
//	lint     judges the text: the table of problem codes
//	vm       runs one handler in one fresh runtime, in this process
//	worker   runs scripts in confined processes; this is how to run scripts that others wrote
//
// What every Executor guarantees:
//   - A handler call sees a fresh runtime: nothing of an earlier call, another handler or another
//     workflow can be observed, and nothing but JSON text crosses the border in either direction.
//   - What a handler may do is decided by one table, phase by operation (R8, phase.go). The first broken rule,
//     failed read or passed limit ends the call; no catch, finally, callback or forgotten promise of
//     the script continues it or makes it succeed (R7).
//   - In mutate the first mutation call takes over: the call returns its parameters and no further
//     instruction of the script is executed (R4).
//   - Publishes, inputs and state are buffered in the Result and exist only if the call succeeded (R10).
//   - Every failure is an *Error that names the rule or limit by a code and, where it is known, the
//     line and column in the author's own file.
//
// What a script finds besides the language is on the page SCRIPTS.md.
//
// How do I add a limit? Give it a field of Limits and a default in limits.go, and its code limit.NAME a place in
// failure.go. Limits.Effective names it too. Keep it in vm, by a LimitFault, and carry it to the processes in
// worker/wire.go; worker/limits_test.go breaks each one. A limit of what a script answers is checked again in
// worker/recheck.go. Make it a setting in engine/schedule/policy.go (Script, defaultScript and Validate), which
// engine/handler/invoke.go hands over, and name it in SCRIPTS.md and in CONFIG.md.
//
// Memory is a limit of the process and not of a call: worker/watchdog.go keeps it from inside, RLIMIT_DATA (package
// confine) by the operating system, and worker/supervise.go from outside.
//
// How large may an event be? One payload has no limit of its own. A push is bounded by rpc.MaxBody, a webhook by
// hook.MaxBody, the publishes of a handler by Limits.Publish, and a transition by jslog's maxTransition, checked in
// engine/record.go (entry).
package sandbox

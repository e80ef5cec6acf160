// Package sandbox turns the text of a workflow script into its definition and runs its handlers.
//
// Guaranteed:
//   - A handler call sees a fresh runtime: nothing of an earlier call, another handler or another
//     workflow can be observed, and nothing but JSON text crosses the border in either direction.
//   - What a handler may do is decided by one table, phase by operation (R8). The first broken rule,
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
// There are two executors. NewPool runs scripts in worker processes: this is how to run scripts that
// others wrote. No script text is parsed, compiled or run in the engine's own process. Guaranteed by
// it besides:
//   - Every call ends within its limits and 250 ms, each counted in its own time, whatever its script
//     does, with an error that names the limit. A worker that does not keep a limit by itself (one
//     native function holds it, or its memory is gone) is killed from outside and replaced.
//   - Limits.CPU is processor time of the worker process, where the operating system tells it, and
//     Limits.Wall is the time that passes; a script is not blamed for a busy machine. One whose process
//     had a processor for less than a tenth of that time, because it was stopped or the machine was too
//     busy, fails with worker.lost instead of limit.wall.
//   - A worker holds no secrets: no environment, no files, no sockets, on Linux taken from it for good
//     (package confine); PoolReport says how much of that this machine could do. It dies with its
//     engine. What it answers is bounded before it is unpacked and checked again against the call. It serves one
//     call at a time, and one that says more than its answer is ended, not handed on.
//   - A call whose worker is killed from outside fails with worker.lost. It has sent nothing: a mutation
//     call leaves a worker only in its result. A worker that ends before it has read all of a call has
//     run nothing of it: the call goes to another worker, once, and only PoolReport tells. (Where the
//     operating system does not say what was read, which only Linux does, that is so if the call could
//     not be written.)
//   - Where there are two places or more, workflows that compute long leave one to those that do not.
//     A call that waits for a connector's read holds a process, but no place.
//   - A workflow whose calls have lately waited long for reads is slow. Slow ones together, and any one
//     workflow alone, hold at most PoolConfig.MaxWorkers - Size processes, so one whose reads are quick
//     waits for the calls of others like it, never for those of the slow. (That a workflow is slow shows
//     only at the end of its first long call: until then such calls can keep others waiting for as long as
//     their reads may take.) Nobody waits for ever: of those that may go on, who came first goes first,
//     and each gives its process back within Limits.Wall of its own time and Limits.Reads of its reads'.
//
// NewInProcess runs scripts in the calling goroutine, for tests and tools with scripts of their own.
// It contains nothing: the script's instructions are interrupted at their deadline, but one native
// built-in (a huge String.repeat, a BigInt power, a deeply nested JSON.parse) can use memory without
// bound, hold the goroutine until it ends, or end the process. Limits.CPU is processor time there too
// (of the script's thread) on Linux; elsewhere both limits count the time that passes. Date's
// local-time methods use the zone of the process there, and UTC in workers.
//
// Not guaranteed: that logs written before a worker was killed are kept, nor that more of the place is
// known where one native function was killed than the handler it was called in.
package sandbox

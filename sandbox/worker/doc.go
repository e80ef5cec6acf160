// Package worker runs scripts in worker processes: this is how to run scripts that others wrote. No script text is
// parsed, compiled or run in the engine's own process.
//
// Guaranteed, besides what package vm guarantees of each call:
//   - Every call ends within its limits and 250 ms, each counted in its own time, whatever its script
//     does, with an error that names the limit. A worker that does not keep a limit by itself (one
//     native function holds it, or its memory is gone) is killed from outside and replaced. Where mutate
//     follows prepare in one call (Invocation.ThenMutate), the process is killed as if both were one handler.
//   - Limits.CPU is processor time of the worker process, where the operating system tells it, and
//     Limits.Wall is the time that passes; a script is not blamed for a busy machine. One whose process
//     had a processor for less than a tenth of that time, because it was stopped or the machine was too
//     busy, fails with worker.lost instead of limit.wall.
//   - The memory of a worker is bounded in four places, in this order: the Go runtime collects more garbage, and then
//     the watchdog ends the process (watchdog.go); the operating system refuses what comes between two looks of the
//     watchdog (RLIMIT_DATA, package confine); last, the engine kills the process from outside (supervise.go).
//   - A worker holds no secrets: no environment, no files, no sockets, on Linux taken from it for good
//     (package confine); Report says how much of that this machine could do. It dies with its
//     engine. Its answer is bounded before it is unpacked and checked again against the call. It serves one
//     call at a time, and one that says more than its answer is ended, not handed on. So is one that its engine has
//     killed, or that still holds much memory after its call.
//   - A call whose worker is killed from outside fails with worker.lost. It has sent nothing: a mutation call leaves a
//     worker only in its result. A worker that ends before it has read all of a call has run nothing of it: the call
//     goes to another worker, once, and only the log and Report tell. On systems other than Linux this holds only if
//     the call could not be written at all. Where a worker ends in a mutate that has followed prepare in one call, the
//     result of prepare is kept, and mutate has failed. If a script ends its worker before the worker has told which of
//     the two handlers runs, each is called by itself with limits of its own; such a script ends one more worker.
//   - Signals that ask a worker to end are ignored. A service manager may send them to all processes of a service, and
//     the engine still needs its workers then: it lets its runs end. It ends them itself.
//   - Where there are two slots or more, workflows that compute long leave one to those that do not, unless they have
//     waited for longestHeavyWait. A call that waits for a connector's read holds a process, but no slot.
//   - A workflow whose calls have lately waited long for reads is slow. All slow workflows together hold at most
//     Config.MaxWorkers - min(Size, MaxWorkers/2) processes, and so does any one workflow alone. So a workflow with
//     quick reads never waits for the calls of slow ones, only for those of other quick ones. (That a workflow is slow
//     shows only at the end of its first long call: until then such calls can keep others waiting for as long as their
//     reads may take.) No call waits for ever. Workflows whose calls may go on take turns; one whose script an idle
//     worker has compiled may go before one whose script would have to be compiled, but each workflow is passed at most
//     as often as workflows wait. Of one workflow's calls, the one that came first goes first. Each gives its process
//     back within Limits.Wall of its own time and Limits.Reads of the time of its reads.
//
// Date's local-time methods use UTC in workers.
//
// Not guaranteed: that logs written before a worker was killed are kept, nor that the error of a native function that
// was killed names more than its handler. If a worker is killed from outside in a mutate that follows prepare, before
// it has told so, the error says that prepare failed (worker.lost).
package worker

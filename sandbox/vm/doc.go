// Package vm runs one handler of a script in one fresh runtime of the interpreter, and mutate in another after a
// prepare where the call asks for it (Invocation.ThenMutate). It also reads the definition of a script. NewExecutor
// makes an executor of it that runs scripts in the calling goroutine.
//
// Guaranteed:
//   - Nothing of an earlier call can be observed, and nothing but JSON text crosses the border in either direction.
//   - The phase table is asked at every call of ctx. The first broken rule, failed read or passed limit ends the
//     call, whatever the script catches (R7, R8).
//   - The first mutation call ends the script: no instruction of it runs after that (R4).
//   - No panic leaves Invoke or Describe, and each failure is a *sandbox.Error with the author's line where that
//     is known.
//
// Not guaranteed: memory and time of one native built-in of the interpreter. A huge String.repeat, a BigInt power or
// a deeply nested JSON.parse can use memory without bound, hold the goroutine until it ends, or end the process;
// package worker contains them. Limits.CPU is processor time of the script's thread on Linux; elsewhere both limits
// count the time that passes. Date's local-time methods use the zone of the process.
package vm

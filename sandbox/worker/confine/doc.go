// Package confine takes from a process what it does not need, for good: Apply is called once, by a
// process that is about to run foreign code.
//
// On Linux, what Apply could take is gone for every thread of the process, also as root: opening
// any file, making any socket, starting any program, tracing or signalling any other process,
// gaining privileges, mapping executable or shared memory, and more private memory than Config.Data. Only
// the standard streams stay open.
//
// Not guaranteed: that each measure is available. An old kernel, a container's own filter or
// another operating system may lack some of them. Apply then takes what it can and says in Report
// what is missing; a process that cannot accept that must not go on.
//
// Start starts such a process from outside, with two pipes, what it says on standard error, and nothing of this
// process's environment. A Watch, inside it, ends it when it holds more memory than allowed. With IgnoreEnd it
// ignores the signals that ask a process to end: its parent alone ends it.
//
// A process with the C library linked allocates thread stacks that count as private memory. Reexec
// makes such a process start again with small ones; it does nothing in a process without C.
package confine

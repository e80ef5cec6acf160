// Package cputime tells how much processor time a process or a thread has used, where the operating system says it.
//
// On Linux it is read from the kernel's clocks. Elsewhere it is unknown: the functions that Own and Thread return are
// nil, and Of says that it does not know.
package cputime

// Package mailparse takes mails apart, for the connectors that read them. Their bytes are untrusted, so it does that in
// a process of its own: this program again, which gives up files, sockets and other processes before it reads the first
// mail (Serve). A Parser starts such processes, hands them mails and ends them.
//
// What it guarantees: no mail costs the calling process more than its own bytes. The other process has
// limits on memory (MaxMemory) and on processor time (so much per mail and per MiB of it), it is killed when
// the caller's context ends, and what it answers is bounded before it is decoded. It answers for one mail at
// a time: the headers first, then the rest, so that a mail that ends the process still has its headers.
//
// A mail is bounded too: in its size, in its headers, in the number of its parts and how deep they are
// nested, and in how deep its HTML nests the elements that format text. A mail that exceeds a limit, or that
// ends the process, is not an error but a Mail with Malformed and the reason in Error. The reasons do
// not depend on how busy the machine is: a Parser that ran out of the caller's time says that instead.
//
// Text of a mail that has HTML only is taken from its tokens, in one pass: no tree is ever built.
//
// What it does not guarantee: confinement where the system has none. On Linux the process is confined like
// those that run scripts (sandbox/worker/confine); elsewhere its own limits on memory and time are what is left.
package mailparse

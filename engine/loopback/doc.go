// Package loopback decides whether a host or an address is this machine.
//
// There are two questions. May something that others must not read go there unencrypted? [Host] and [Address] answer
// that. Does a request, or a listener, name this machine? [Called] answers that, and knows more names.
//
// Guaranteed: nothing is looked up, so the answer depends on the text alone. An empty host is every interface of a
// listener, and so it is not this machine.
//
// Not guaranteed: that the name localhost leads to this machine. Where a password goes unencrypted, the address that is
// dialled is checked too (engine/connector/publicnet, LoopbackOnly).
package loopback

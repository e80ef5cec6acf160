// Package auth decides whose requests an engine answers, and how much one caller may have open at once.
//
// Guaranteed: without a valid token only public requests are answered; a web page is refused even with a token,
// by its origin and by the Host that it calls. Beyond loopback an engine is opened only with TLS, its own or a proxy's,
// and with a token. A token that was revoked opens nothing any more: waiting requests are woken and check their token
// again. Connections without a token, however many, keep out no caller with one.
//
// Not guaranteed: what a caller may do; that is its role (rpc.Operation.Permit).
package auth

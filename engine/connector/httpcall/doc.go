// Package httpcall is the `http` connector: reads and mutations over HTTP/1.1, to configured hosts.
//
// What it guarantees for a mutation (post, put, patch, delete):
//
//   - One call is one request on the wire. net/http resends some requests by itself when a
//     kept-alive connection breaks, and an Idempotency-Key header invites it to. So every request
//     has a body that cannot be replayed, or a connection that was never used before; no redirect
//     is followed; and the connection itself refuses a second request of the same call.
//   - "It never left" is said only when not one byte was handed to the network: the connection
//     counts, and is closed to further writes before the answer is given.
//   - Nothing is sent after the deadline, or after the engine has lost the right to send: the
//     connection looks at both when the first byte is handed to it, after dialling and TLS.
//   - A request that has left completely is listened to for longer (5 minutes after its deadline), so
//     that a late answer can still settle it. A host has at most 256 connections for reads and twice as many
//     for mutations; a call that gets none within its time was not sent. The same holds for the host's own bounds of
//     concurrency and rate, which are waited for before the connection is asked for.
//
// For all calls: only configured hosts are called. Private, loopback, link-local and similar addresses are refused,
// unless the host is configured as private. The address that is really dialled is looked at, so neither redirects nor
// DNS get round that. A proxy is used only where the configuration names it for the host; package tunnel says what it
// can do. A host's configured headers go to it only, and only when the workflow calls it: a redirect to another host
// takes none along, since the host that redirects chooses what is asked for. Each value that ${env:} or ${file:} filled
// into the configuration, and each access token that was given for a host, is blanked out of results, headers and
// errors, in the forms in which answers repeat it.
//
// Where the operator promises that a host knows a call by its key, the engine may give the same call to Perform again,
// as one with Resend. Each of them is one request; its answer settles the call only if it is 2xx, or the one that the
// configuration names.
//
// After a timeout the host may still be at work. The engine believes no "failed" of a reconcile while the
// connection is open, nor for the host's quiet time after it was closed without an answer of its own. Where the process
// that held the connection has ended, or a proxy has answered 408 or 502 and above, it believes none before as much
// time has passed after the deadline as it would have listened. The host's quiet time replaces that where it is
// configured.
//
// A read by another method than GET goes only where the operator has listed method and path as one that changes
// nothing; the path is compared decoded, and what could be read as another path is refused. No read may carry a
// header that asks for another method.
//
// How an answer is read (F4): 2xx, and what the script expects, applied. 400, 409, 422 and other 4xx definite,
// logic; 401, 403 auth; 404, 410, 412 precondition; 429 transient. 408, every 5xx, every 3xx (it does not say whether
// the request took effect here), a 2xx whose body breaks off or is not the JSON it claims to be, and
// every error after the first byte: uncertain. For reads 5xx, 408, 429 and network errors are transient.
//
// Not guaranteed: that a host does nothing when it answers 4xx, or that it honours the
// Idempotency-Key; a process frozen inside the write may finish it after the deadline, which only
// a host that refuses requests after Pawl-Deadline can stop.
package httpcall

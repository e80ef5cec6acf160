// Package natsservice makes connectors of services that run elsewhere, in any language: a service
// of the NATS micro protocol is a connector, its endpoints are the operations.
//
// A service named mail serves the operation send on the subject pawl.tool.mail.send (group
// pawl.tool.mail, endpoint send). The endpoint's metadata describe it:
//
//	pawl.kind       list, get, mutate or reconcile (required)
//	pawl.reconcile  for a mutation: the endpoint of this service, of kind reconcile, that knows what became of it
//	pawl.timeout    how long one call may take, e.g. 30s
//	pawl.schema     JSON Schema of the parameters
//	pawl.result     JSON Schema of the result
//	pawl.summary    one line for people
//
// A request is the parameters as JSON with the headers Pawl-Workflow, Pawl-Run, Pawl-Deadline
// (RFC 3339) and, for a mutation, Idempotency-Key. The answer is JSON, or an error of the micro
// protocol whose code says what it means; see [Watcher] for finding services and codes.go for the
// codes. A reconcile endpoint is sent {params, idempotencyKey, startedAt} and answers
// {"status": "applied"|"failed"|"retry", "result": …}.
//
// What it guarantees:
//
//   - One call is one request: it is written once, on a connection that buffers nothing while it
//     is down, and never again. Not connected is a definite failure; a connection that breaks
//     under a call leaves the call uncertain (F4).
//
//   - A mutation is offered only where exactly one receiver gets a request: its endpoint has a
//     queue group, all instances of its service describe it alike, and no other endpoint listens
//     on its subject. Anything else is refused, loudly and with the reason.
//
//   - A compiled-in connector is never replaced by a service of its name.
//
//   - A reply that comes after the deadline still reaches the engine, for a bounded time (F12).
//
//   - What a tool answers can make a call less certain, never more: an answer that cannot be
//     understood is uncertain for a mutation (F3).
//
//   - On a connection for one service ([Config.Only]) no other is believed, and no connection is believed
//     about a service that has one of its own ([Config.Elsewhere]).
//
// What it does not guarantee: that tools on one connection are honest with one another (each may say that
// it serves what another does), that a change of a tool is seen at once (it is looked for every few seconds, when
// an operation is unknown and when a call finds no listener), or that a request whose bytes are already
// in the operating system's hands arrives before its deadline. Only a tool that keeps what [Check]
// checks closes that gap.
package natsservice

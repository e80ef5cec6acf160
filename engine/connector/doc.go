// Package connector is the only way from a workflow to the outside. A connector owns every call
// to one outside system; the Registry is the gate all calls go through. CONNECTORS.md describes the
// operations of those built in.
//
// How do I add a connector, or an operation? The section "Writing one in Go" of CONNECTORS.md tells, at its end also
// for one more operation.
//
// Secrets are filled into the configuration by secrets.go, and blanked (redacted) out of answers by package redact.
//
// What it guarantees:
//
//   - A mutation call ends in exactly one of Applied, Failed or Uncertain, and Uncertain is the
//     zero value: a forgotten status, a panic, an unusable answer or a connector that does not come
//     back can never cause a second send (F4, F5).
//   - Parameters are checked against the operation's JSON Schema before a connector sees them, so
//     bad parameters are a definite failure: nothing has left.
//   - A call ends at its deadline, also when the connector does not. What a connector finds out
//     later is handed to the function given to Registry.OnLate (F12).
//   - The result of an applied mutation is never lost for being too big: a marker takes its place.
//   - Schemas are compiled without touching the network or the file system.
//
// What it does not guarantee: that a request is recorded before it leaves (the engine's barrier
// does that), that a workflow may make the call (grants are checked by the engine), or that a
// process frozen inside the write of a request does not finish that write when it wakes up. Only a
// receiver that honours the idempotency key or the deadline closes that gap.
package connector

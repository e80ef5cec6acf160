// Package rpc is how calls of operations travel: how an operation is described, how its request is read from
// HTTP or from one JSON object, the OpenAPI document, the endpoints of the NATS service, and the Go client. It
// knows no single operation: package ops hands it the table.
//
// Guaranteed: a request is filled strictly. A field or parameter that is unknown, misplaced, missing or that its
// type cannot have is a problem document, and the operation does not run. The values of an enumeration stand in
// one place (Types), from which the document is made and requests are checked. The rights of a caller are decided
// by one function for all interfaces: Operation.Permit. A client sends a token over https only, or to this
// machine.
//
// Not guaranteed: that a call which ended in ErrUnreachable was not carried out; repeat it.
package rpc

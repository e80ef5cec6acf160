// Package rpc carries calls of operations: it describes operations, reads their requests from HTTP or from one JSON
// object, and makes the OpenAPI document, the endpoints of the NATS service and the Go client. It knows no single
// operation: package ops gives it the table.
//
// Guaranteed: a request is read strictly. A field or parameter that is unknown, misplaced or missing, or has a value
// that its type cannot have, is answered with a problem document, and the operation does not run. The values of an
// enumeration are listed in one place (Types), from which the document is made and requests are checked. The rights of
// a caller are decided by one function for all interfaces: Operation.Permit. A client sends a token over https only, or
// to this machine.
//
// Not guaranteed: that a call which ended in ErrUnreachable was not carried out; repeat it.
package rpc

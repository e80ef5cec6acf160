// Package hooks takes the requests of other systems: what a workflow's hook verifies becomes an event.
//
// Guaranteed: a request is answered with success only once its event is durable. A request that is refused stores
// nothing, and its answer is a problem document with a code. What a hook declares as its answer is sent only after the
// request is verified. The size of a body is bounded, and so is that of all unverified bodies together, of one sender
// and of all. A sender that is too slow is cut off. A hook whose workflow has no grant for its secret verifies nothing.
// No secret is in any answer, log or event.
//
// Not guaranteed: that a request without an answer was not recorded. Sent again, it is the same event.
package hooks

// Package hooks receives incoming webhooks: here a webhook request of another system becomes an event, once the
// workflow's hook has verified it (receiver.go). What a request has to be, and which event it becomes, is in
// engine/hook. Webhooks that go out are in ops/subscription and ops/outgoing.
//
// Guaranteed: a request is answered with success only once its event is durable. A request that is refused stores
// nothing, and its answer is a problem document with a code. What a hook declares as its answer is sent only after the
// request is verified. The size of a body is bounded, and so is that of all unverified bodies together, of one sender
// and of all. A sender that is too slow is cut off. A hook whose workflow has no grant for its secret verifies nothing.
// No secret is in any answer, log or event.
//
// Not guaranteed: that a request without an answer was not recorded. Sent again, it is the same event.
package hooks

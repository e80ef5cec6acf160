// Package hooks receives incoming webhooks: a webhook request of another system becomes an event once the workflow's
// hook has verified it (receiver.go). The rules for requests, and for the events that they become, are in engine/hook.
// Webhooks that go out are in ops/subscription and ops/outgoing.
//
// Guaranteed: a request is answered with success only once its event is durable. A request that is refused stores
// nothing, and its answer is a problem document with a code. The answer that a hook declares is sent only after the
// request is verified. The size of a body is bounded, and so is that of all unverified bodies together, of one sender
// and of all. A sender that is too slow is cut off. A hook whose workflow has no grant for its secret verifies nothing.
// No secret is in any answer, log or event.
//
// Not guaranteed: that a request without an answer was not recorded. If it is sent again, it is the same event.
package hooks

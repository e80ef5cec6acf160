// Package hooks takes the requests of other systems: what a workflow's hook verifies becomes an event.
//
// Guaranteed: a request is answered with success only once its event is durable, and one that is refused stores
// nothing: each refusal is a problem document with a code of its own. Nothing is answered as a hook says before the
// request is verified. Bodies are bounded each, from one address and in all; a sender that is too slow is cut off.
// Workflows without a grant for a hook's secret verify nothing, and no secret is in any answer, log or event.
//
// Not guaranteed: that a request which was not answered was not recorded. Sent again, it is the same event.
package hooks

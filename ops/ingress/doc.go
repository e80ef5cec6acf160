// Package ingress reads pushed events: one JSON object {messageId, title, payload}, or an array of them.
//
// Guaranteed: a text is read once and strictly: UTF-8, known fields, each of them once. Only after an error is the
// whole text checked, so that invalid JSON is always reported as json.invalid. Payloads keep their bytes. A mistake is
// answered with a problem document that names the item, and then no event of the text is recorded.
//
// Not guaranteed: that a payload has no member twice; it is kept as it was sent.
package ingress

// Package hook says what an incoming webhook, a request from another system, has to be, and which event it becomes. It
// is a function of the declaration, the request, the values of the secret and the time: it reads no clock and keeps
// nothing. The server that takes the requests is ops/hooks.
//
// Guaranteed:
//   - [Verify] accepts a request only if one of the secret's values was used for it: over the raw bytes that were
//     received, compared in constant time, and within the tolerance where there is a timestamp. A secret without a
//     value, and an empty one, verify nothing.
//   - What verified a request enters neither its payload nor its id and title: [Check] refuses templates and headers
//     that name it, and a token in the query is left out.
//   - [EventOf] makes the same event of the same request. Numbers keep their text.
//   - [Check] finds all that a declaration can have wrong; what it accepts is complete.
//
// Not guaranteed: that a request is new. A timestamp bounds for how long a copy of one is accepted, and a copy has the
// same id, so it is the same event, if the id stands in what is signed.
package hook

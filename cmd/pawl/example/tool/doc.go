// Program tool is a connector in a process of its own: the service counter on NATS. Scripts call it
// as ctx.counter.add({by: 2}).
//
//	go run ./cmd/pawl/example/tool .pawl/nats/tools/counter.url
//
// It guarantees what every connector must: it refuses with 503 a request that it receives after its deadline
// (a); a request with the same key again has no second effect and gets the first answer (b); a call of which it
// has said that it failed can never be carried out any more (c).
//
// It does not guarantee to remember: it keeps the keys in memory. When it is killed during a call, it says afterwards
// that the call has failed, and its total is gone as well. A real tool writes the key together with the change, in
// one transaction of its own storage, so that both survive its end or neither does.
package main

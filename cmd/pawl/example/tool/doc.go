// Program tool is a connector in a process of its own: the service counter on NATS. Scripts call it
// as ctx.counter.add({by: 2}).
//
//	go run ./cmd/pawl/example/tool .pawl/nats/tools/counter.url
//
// It guarantees what every connector must: it refuses with 503 what it receives after its deadline
// (a); the same key again has no second effect and gets the first answer (b); what it says has
// failed can never be carried out any more (c).
//
// It does not guarantee to remember: its book is in memory, so a call that it died under is said to
// have failed, and its total is gone as well. A real tool writes the key together with the change, in
// one transaction of its own storage, so that both survive its end or neither does.
package main

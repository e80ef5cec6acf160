// Package ops is how people and programs talk to an engine: one table of operations, from which the HTTP routes, the
// OpenAPI document, the endpoints of the NATS service and the Go client all come. The table is in table_*.go and
// is put together in server.go; the transport of calls is in ops/rpc, the callers' rights in ops/auth. The explanations
// of `pawl why` are in ops/explain, the reading of the log in ops/logread, state of the past and the check of the log
// in ops/replay, backups in ops/backup, the doctor's findings in ops/doctor, the web page in ops/console.
//
// Webhooks of other systems (ops/hooks) and pushed events (ops/ingress) come in. Facts go out: the feed in ops/feed;
// webhooks in ops/subscription, which knows how far each is, by ops/outgoing, which makes one signed POST; alerts in
// ops/alert; traces in ops/trace; metrics in ops/metrics. A new operation is a row in one of the tables; ops/metrics
// says how a metric is added; a new bound of the server is a field of Config (config.go).
//
// Guaranteed: an operation answers only after what it changed is durable; a refused or malformed
// call changes nothing; every error is a problem document with a stable code and, where there is
// one, the next thing to do. An operator's action is a transition with the actor's name (O10). A web
// page cannot use an engine, and every other caller needs its token, on loopback too; beyond it, over
// TLS. The rights of a caller are its role, which one function enforces for all interfaces:
// rpc.Operation.Permit. Everything that a caller does with a named token is recorded under the token's name. Once a
// revocation is answered, the token opens nothing any more, and streams that are open with it end. Tokens are kept as
// hashes, and their facts are shown nowhere. Connections, streams of the log and requests that read a long
// past are bounded, for each caller and in all; the connection of a reader that does not read is closed.
//
// Not guaranteed: a call that ends in 503 may still be recorded, since the outcome of its append was not known in
// time. All operations may be repeated: a push is deduplicated by its message ids (R11), and a repeated action of an
// operator changes nothing, or is refused because of the state that the first one led to.
package ops

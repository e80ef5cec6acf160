// Package ops is how people and programs talk to an engine: one table of operations, from which the HTTP routes, the
// OpenAPI document, the endpoints of the NATS service and the Go client all come. The table stands in table_*.go and
// is put together in server.go; how its calls travel is in ops/rpc, whose they are in ops/auth. What `pawl why` says
// is in ops/explain, how the log is shown in ops/logread, state of the past and the check of the log in ops/replay,
// backups in ops/backup, the doctor's findings in ops/doctor, the web page in ops/console.
//
// In come webhooks of other systems (ops/hooks) and pushed events (ops/ingress). Out go facts: the feed in ops/feed;
// webhooks in ops/subscription, which knows how far each is, over ops/outgoing, which makes one signed POST; alerts in
// ops/alert; traces in ops/trace; figures in ops/metrics. A new operation is a row in one of the tables; of a new
// figure ops/metrics tells; a new bound of the server is a field of Config (config.go).
//
// Guaranteed: an operation answers only after what it changed is durable; a refused or malformed
// call changes nothing; every error is a problem document with a stable code and, where there is
// one, the next thing to do. An operator's action is a transition with the actor's name (O10). A web
// page cannot use an engine, and every other caller needs its token, on loopback too; beyond it, over
// TLS. The rights of a caller are its role, which one function enforces for all interfaces:
// rpc.Operation.Permit. A caller that has shown a named token has its name in all it does, and a revoked
// one opens nothing from the answer to its revocation on: what is open with it ends. Tokens are kept as
// hashes, and their facts are shown nowhere. Connections, streams of the log and requests that read a long
// past are bounded, for each caller and in all; a reader that takes nothing is dropped.
//
// Not guaranteed: a call that ends in 503 may still be recorded, since its append was not settled in
// time. All operations may be repeated: a push is deduplicated by its message ids (R11), and an
// operator's action that already holds is a no-op or is refused by the state it led to.
package ops

// Package trace says how runs go as OpenTelemetry traces: a span for each run, below it one for each phase, and below
// these one for each call of a connector. They are sent to a collector by OTLP over HTTP.
//
// Guaranteed:
//
//   - The engine never waits for a trace. Ended spans wait in a queue of bounded size; a span that finds no room there,
//     or that the collector does not accept, is counted as dropped.
//   - A run belongs to one trace, also over a restart: that of the first of its events that came in with a trace
//     (event.traced), else one of its own, whose id is the run's. A run on events of several traces names the others as
//     links.
//   - The traceparent that a connector gets is the context of the span of its call.
//   - Spans hold names, ids and the codes of failures. Payloads, parameters, results, titles and messages are never
//     sent.
//
// Not guaranteed: that a trace is complete. When an engine is killed, the next engine makes the spans anew that had not
// ended, as far as its local store knows them; calls that were open are missing. Which trace a run of a plain consumer
// belongs to is decided when it first needs one. If prepare reads before it has chosen, that is the trace of the oldest
// pending event, which it may then not choose.
//
// tracer.go observes what the engine records, run.go has the runs that are under way, calls.go wraps the connectors,
// queue.go is the queue before the collector, sender.go reads the traces of senders.
package trace

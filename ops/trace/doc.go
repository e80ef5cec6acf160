// Package trace says how runs go as OpenTelemetry traces: a span for each run, below it one for each phase, and below
// these one for each call of a connector. They are sent to a collector by OTLP over HTTP.
//
// Guaranteed:
//
//   - The engine never waits for a trace. What is ready to be sent waits in a queue of bounded size; what finds no room
//     there, or is not taken by the collector, is counted as dropped.
//   - A run belongs to one trace, also over a restart: that of the first of its events that was brought in with one
//     (event.traced), else one of its own, whose id is the run's. A run on events of several traces names the others as
//     links.
//   - What a connector is given as traceparent lies below the span of its call.
//   - Spans hold names, ids and the codes of failures. Payloads, parameters, results, titles and messages stay here.
//
// Not guaranteed: that a trace is complete. Of what was under way when an engine was killed, the spans that had not
// ended are made anew by the next engine, as far as its local store knows them; calls that were open are missing. Which
// trace a run of a plain consumer belongs to is decided when it first needs one: while its prepare reads, that is the
// trace of the oldest pending event, which it may then not choose.
//
// tracer.go takes in what the engine records, run.go holds a run that is under way, calls.go stands before the
// connectors, queue.go is what lies between here and the collector, sender.go takes the traces of senders in.
package trace

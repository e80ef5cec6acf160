package trace

import (
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/eventlog"
)

// maxRecent is how many runs are remembered after their end.
const maxRecent = 10_000

// recent remembers the contexts of runs that have ended, for the runs that are caused by them.
type recent struct {
	contexts map[eventlog.RunID]oteltrace.SpanContext
	order    []eventlog.RunID
	oldest   int
}

func (r *recent) of(id eventlog.RunID) oteltrace.SpanContext { return r.contexts[id] }

func (r *recent) add(id eventlog.RunID, of oteltrace.SpanContext) {
	if r.contexts == nil {
		r.contexts = map[eventlog.RunID]oteltrace.SpanContext{}
	}
	if len(r.order) < maxRecent {
		r.order = append(r.order, id)
	} else {
		delete(r.contexts, r.order[r.oldest])
		r.order[r.oldest] = id
		r.oldest = (r.oldest + 1) % maxRecent
	}
	r.contexts[id] = of
}

package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/trace"
	"github.com/pawl-run/pawl/projections"
)

// tracing makes traces of what the engine does, where that is asked for. The zero value makes none.
type tracing struct{ tracer *trace.Tracer }

// tracesEnd is how long an engine that ends waits for the collector of its traces.
const tracesEnd = 5 * time.Second

// openTraces prepares the traces of the engine that n is to have. before are the ends of the log, by partition.
func (n *Node) openTraces(ctx context.Context, before []uint64, version string) error {
	d := n.Data
	if d.Settings.Traces == "" {
		return nil
	}
	tracer, err := trace.New(ctx, trace.Config{
		Endpoint: d.Settings.Traces, Sample: d.Settings.TracesSample, Before: before,
		State:        func(name eventlog.WorkflowName) (projections.State, bool) { return n.Engine.State(name) },
		Installation: d.Log.Installation(), Version: version, Now: n.clock.Now, Logger: d.Logger,
	})
	if err != nil {
		return d.Settings.Origin.Locate("traces", exit.Misconfigured("", "%v", err))
	}
	d.Opened.Add(func() error {
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), tracesEnd)
		defer stop()
		if err := tracer.Close(last); err != nil {
			d.Logger.Warn("the last traces were not sent; they are lost, and nothing else", "error", err)
		}
		return nil
	})
	n.traces = tracing{tracer}
	return nil
}

// observe tells of a transition.
func (t tracing) observe(r eventlog.Record) {
	if t.tracer != nil {
		t.tracer.Observe(r)
	}
}

// connectors wraps the connectors, to trace their calls.
func (t tracing) connectors(behind engine.Connectors) engine.Connectors {
	if t.tracer == nil {
		return behind
	}
	return t.tracer.Connectors(behind)
}

// figures are the metrics of the traces; nil where none are made.
func (t tracing) figures() prometheus.Collector {
	if t.tracer == nil {
		return nil
	}
	return t.tracer.Figures()
}

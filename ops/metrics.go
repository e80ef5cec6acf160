package ops

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// metrics are the figures at /metrics, in a registry of their own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	pushed   prometheus.Counter
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_http_requests_total", Help: "Operations answered over HTTP, by operation and status.",
		}, []string{"operation", "status"}),
		pushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_events_pushed_total", Help: "Events brought in from outside and recorded.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pawl_build_info", Help: "1, with the version of this engine.", ConstLabels: prometheus.Labels{"version": s.cfg.Version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.pushed, build, engineCollector{s}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.cfg.Workers != nil {
		m.registry.MustRegister(workersCollector{s.cfg.Workers})
	}
	return m
}

// operation returns the counter of an operation's answers; looking a counter up costs more than
// counting. Those of its successes are there, at 0, before the first.
func (m *metrics) operation(o *Operation) func(status int) {
	var known sync.Map
	counter := func(status int) prometheus.Counter {
		c := m.requests.WithLabelValues(o.ID, strconv.Itoa(status))
		known.Store(status, c)
		return c
	}
	for _, status := range o.Statuses {
		counter(status)
	}
	return func(status int) {
		if c, ok := known.Load(status); ok {
			c.(prometheus.Counter).Inc()
			return
		}
		counter(status).Inc()
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// engineCollector reads the engine's figures when they are asked for.
type engineCollector struct{ s *Server }

var (
	describeWorkflows = prometheus.NewDesc("pawl_workflows", "Workflows by status.", []string{"status"}, nil)
	describeActive    = prometheus.NewDesc("pawl_active_runs", "Runs that are active now.", nil, nil)
	describePerson    = prometheus.NewDesc("pawl_workflows_blocked", "Workflows that the system holds, by reason.", []string{"reason"}, nil)
	describeAttention = prometheus.NewDesc("pawl_workflows_attention", "Workflows that need attention although they do not wait for a person, by reason.", []string{"reason"}, nil)
	describeDiscarded = prometheus.NewDesc("pawl_jobs_discarded", "Jobs that were put aside, their attempts used up.", nil, nil)
	describeStopped   = prometheus.NewDesc("pawl_workflows_stopped", "Workflows that are out of service because their log cannot be followed.", nil, nil)
	describeOrphans   = prometheus.NewDesc("pawl_orphaned_reservations", "Reserved events that no run holds; there must be none.", nil, nil)
	describeLast      = prometheus.NewDesc("pawl_store_sequence", "How far the log is in the local store, by partition.", []string{"partition"}, nil)
	describeLag       = prometheus.NewDesc("pawl_checkpoint_lag", "Transitions in the log that the local store's checkpoint does not cover, by partition.", []string{"partition"}, nil)
	describeReady     = prometheus.NewDesc("pawl_ready", "Whether the log is replayed and workflows run.", nil, nil)
)

// lagPatience is how long the figures wait for the log to say where it ends.
const lagPatience = 2 * time.Second

// lag tells how far the checkpoint is behind; nothing while the log does not answer.
func (c engineCollector) lag(partition int, gauge func(*prometheus.Desc, int, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), lagPatience)
	defer cancel()
	if n, err := c.s.cfg.Engine.Uncovered(ctx, partition); err == nil {
		gauge(describeLag, int(n), strconv.Itoa(partition))
	}
}

// Describe implements prometheus.Collector.
func (c engineCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeWorkflows, describeActive, describePerson, describeAttention, describeDiscarded, describeStopped, describeOrphans, describeLast, describeLag, describeReady} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It takes the names from the store without bringing it up
// to date: a workflow shows at most one flush late.
func (c engineCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	engine := c.s.cfg.Engine
	select {
	case <-engine.Ready():
		gauge(describeReady, 1)
	default:
		gauge(describeReady, 0)
	}
	statuses := map[projections.Status]int{
		projections.StatusActive: 0, projections.StatusPaused: 0, projections.StatusError: 0, projections.StatusArchived: 0,
	}
	blocked, active, discarded := map[eventlog.BlockReason]int{}, 0, 0
	for _, reason := range knownTypes.Possible(reflect.TypeFor[eventlog.BlockReason]()) {
		blocked[eventlog.BlockReason(reason)] = 0
	}
	attention := map[projections.AttentionReason]int{
		projections.AttentionTransient: 0, projections.AttentionDiscarded: 0, projections.AttentionUnknown: 0,
		projections.AttentionDamage: len(engine.Damage().Workflows),
	}
	for p := range c.s.cfg.Log.Partitions() {
		names, err := c.s.cfg.Reader.Store.Workflows(p)
		if err != nil {
			to <- prometheus.NewInvalidMetric(describeWorkflows, err)
			return
		}
		for _, name := range names {
			state, ok := engine.State(name)
			if !ok {
				continue
			}
			statuses[state.Status()]++
			if state.Blocked != nil {
				blocked[state.Blocked.Reason]++
			}
			if a := state.Attention(); a != nil {
				attention[a.Reason]++
			}
			discarded += state.Counts.Discarded
			if run := state.CurrentRun(); run != nil && run.Status == eventlog.RunActive {
				active++
			}
		}
		// Without a checkpoint nothing of the partition is covered: 0.
		if checkpoint, _, err := c.s.cfg.Reader.Store.Checkpoint(p); err == nil {
			gauge(describeLast, int(checkpoint.Seq), strconv.Itoa(p))
		}
		c.lag(p, gauge)
	}
	for status, n := range statuses {
		gauge(describeWorkflows, n, string(status))
	}
	for reason, n := range blocked {
		gauge(describePerson, n, string(reason))
	}
	for reason, n := range attention {
		gauge(describeAttention, n, string(reason))
	}
	gauge(describeDiscarded, discarded)
	gauge(describeActive, active)
	gauge(describeStopped, len(engine.Stopped()))
	orphans := 0
	for _, refs := range engine.Orphans() {
		orphans += len(refs)
	}
	gauge(describeOrphans, orphans)
}

package metrics

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// Sources are the parts from which the metrics are read.
type Sources struct {
	Engine *engine.Engine
	Reader *readmodel.Reader
	Log    eventlog.Log
	// Workers reports on the processes that run scripts; nil means that there are none.
	Workers func() worker.Report
	// Version of this program.
	Version string
	// Holds are the reasons for which the system can hold a workflow.
	Holds []string
	// Progress counts what the engine records; nil means that nothing is counted.
	Progress *Progress
	// Feed are the metrics of the feed; nil means that nothing is published.
	Feed prometheus.Collector
	// Subscriptions are the metrics of outgoing webhooks; nil means that there are none.
	Subscriptions prometheus.Collector
	// Traces are the metrics of traces; nil means that none are made.
	Traces prometheus.Collector
}

// Metrics are the metrics at /metrics, in a registry of their own.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	refusals *prometheus.CounterVec
	// Pushed counts the new events that were brought in from outside.
	Pushed prometheus.Counter
}

// New registers the metrics.
func New(s Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_http_requests_total", Help: "Operations answered over HTTP, by operation and status.",
		}, []string{"operation", "status"}),
		Pushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_events_pushed_total", Help: "New events brought in from outside: not those that were there already.",
		}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_hook_refusals_total", Help: "Requests for hooks that were refused, by the code of the answer.",
		}, []string{"code"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pawl_build_info", Help: "1, with the version of this engine.",
		ConstLabels: prometheus.Labels{"version": s.Version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.Pushed, m.refusals, build, engineCollector{s}, partitionCollector{s.Engine},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.Progress != nil {
		m.registry.MustRegister(s.Progress)
	}
	for _, beside := range []prometheus.Collector{s.Feed, s.Subscriptions, s.Traces} {
		if beside != nil {
			m.registry.MustRegister(beside)
		}
	}
	if s.Workers != nil {
		m.registry.MustRegister(workersCollector{s.Workers})
	}
	return m
}

// Operation returns the counter of an operation's answers. It is looked up once, since the lookup costs more than the
// counting. The counters of its successes exist, with the value 0, before the first.
func (m *Metrics) Operation(id string, successes ...int) func(status int) {
	var known sync.Map
	counter := func(status int) prometheus.Counter {
		c := m.requests.WithLabelValues(id, strconv.Itoa(status))
		known.Store(status, c)
		return c
	}
	for _, status := range successes {
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

// HookRefusals returns the counter of refused requests for hooks, by the problem's code. The counters of the known
// codes exist, with the value 0, before the first refusal.
func (m *Metrics) HookRefusals(known ...string) func(code string) {
	for _, code := range known {
		m.refusals.WithLabelValues(code)
	}
	return func(code string) { m.refusals.WithLabelValues(code).Inc() }
}

// Handler answers with the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// engineCollector reads the engine's metrics when they are asked for.
type engineCollector struct{ s Sources }

var (
	describeWorkflows = prometheus.NewDesc("pawl_workflows", "Workflows by status.", []string{"status"}, nil)
	describeActive    = prometheus.NewDesc("pawl_active_runs", "Runs that are active now.", nil, nil)
	describeBlocked   = prometheus.NewDesc("pawl_workflows_blocked", "Workflows that the system holds, by reason.",
		[]string{"reason"}, nil)
	describeAttention = prometheus.NewDesc("pawl_workflows_attention",
		"Workflows that need attention although they do not wait for a person, by reason.", []string{"reason"}, nil)
	describeDiscarded = prometheus.NewDesc("pawl_jobs_discarded", "Jobs that were put aside, their attempts used up.", nil,
		nil)
	describeJobs = prometheus.NewDesc("pawl_jobs", "Jobs that are not over, and those that were put aside, by state.",
		[]string{"workflow", "state"}, nil)
	describeHeld = prometheus.NewDesc("pawl_held", "Events that are held, by what they are held for.",
		[]string{"workflow", "reason"}, nil)
	describeStopped = prometheus.NewDesc("pawl_workflows_stopped",
		"Workflows that are out of service because their log cannot be followed.", nil, nil)
	describeOrphans = prometheus.NewDesc("pawl_orphaned_reservations",
		"Reserved events that no run holds; there must be none.", nil, nil)
	describeLast = prometheus.NewDesc("pawl_store_sequence", "How far the log is in the local store, by partition.",
		[]string{"partition"}, nil)
	describeLag = prometheus.NewDesc("pawl_checkpoint_lag",
		"Transitions in the log that the local store's checkpoint does not cover, by partition.", []string{"partition"}, nil)
	describeReady = prometheus.NewDesc("pawl_ready", "Whether the log is replayed and workflows run.", nil, nil)
)

// lagTimeout is how long Collect waits for the log to say where it ends.
const lagTimeout = 2 * time.Second

// lag reports how far the checkpoint is behind, and nothing while the log does not answer.
func (c engineCollector) lag(partition int, gauge func(*prometheus.Desc, int, ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	if n, err := c.s.Engine.CheckpointLag(ctx, partition); err == nil {
		gauge(describeLag, int(n), strconv.Itoa(partition))
	}
}

// Describe implements prometheus.Collector.
func (c engineCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeWorkflows, describeActive, describeBlocked, describeAttention,
		describeDiscarded, describeJobs, describeHeld, describeStopped, describeOrphans, describeLast, describeLag,
		describeReady} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It takes the names from the store without a flush: a new workflow shows
// after the next one.
func (c engineCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	live := c.s.Engine
	select {
	case <-live.Ready():
		gauge(describeReady, 1)
	default:
		gauge(describeReady, 0)
	}
	statuses := map[projections.Status]int{
		projections.StatusActive: 0, projections.StatusPaused: 0, projections.StatusError: 0, projections.StatusArchived: 0,
	}
	blocked, active, discarded := map[eventlog.BlockReason]int{}, 0, 0
	for _, reason := range c.s.Holds {
		blocked[eventlog.BlockReason(reason)] = 0
	}
	attention := map[projections.AttentionReason]int{
		projections.AttentionTransient: 0, projections.AttentionDiscarded: 0, projections.AttentionUnknown: 0,
		projections.AttentionHeld: 0, projections.AttentionProbing: 0, projections.AttentionFailing: 0,
		projections.AttentionDamage: len(live.Damage().Workflows),
	}
	for p := range c.s.Log.Partitions() {
		names, err := c.s.Reader.Store.Workflows(p)
		if err != nil {
			to <- prometheus.NewInvalidMetric(describeWorkflows, err)
			return
		}
		for _, name := range names {
			state, ok := live.State(name)
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
			active += activeRuns(&state)
			collectJobs(&state, gauge)
		}
		// Without a checkpoint the value is 0: the store covers nothing of the partition.
		if checkpoint, _, err := c.s.Reader.Store.Checkpoint(p); err == nil {
			gauge(describeLast, int(checkpoint.Seq), strconv.Itoa(p))
		}
		c.lag(p, gauge)
	}
	for status, n := range statuses {
		gauge(describeWorkflows, n, string(status))
	}
	for reason, n := range blocked {
		gauge(describeBlocked, n, string(reason))
	}
	for reason, n := range attention {
		gauge(describeAttention, n, string(reason))
	}
	gauge(describeDiscarded, discarded)
	gauge(describeActive, active)
	gauge(describeStopped, len(live.Stopped()))
	orphans := 0
	for _, refs := range live.Orphans() {
		orphans += len(refs)
	}
	gauge(describeOrphans, orphans)
}

// activeRuns counts the runs of a workflow that are active: the one of its plain handlers, and those of its concurrent
// consumers.
func activeRuns(s *projections.State) (n int) {
	if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunStatusActive {
		n++
	}
	for _, c := range s.Definition().Consumers {
		if c.Concurrent() {
			n += s.Places(c.Name)
		}
	}
	return n
}

// collectJobs reports the jobs of the workflow by state. Held events are reported for workflows with concurrent
// consumers only: in others a failure holds the workflow.
func collectJobs(s *projections.State, gauge func(*prometheus.Desc, int, ...string)) {
	name := string(s.Name)
	for state, n := range map[projections.JobState]int{
		projections.JobAvailable: s.Available(), projections.JobRunning: s.Counts.Running,
		projections.JobRetryable: s.Counts.Retryable, projections.JobDiscarded: s.Counts.Discarded,
	} {
		gauge(describeJobs, n, name, string(state))
	}
	held := map[eventlog.HeldReason]int{}
	for _, c := range s.Definition().Consumers {
		for _, reason := range eventlog.HeldReasons() {
			if c.Concurrent() {
				held[reason] += 0
			}
		}
	}
	for _, n := range s.Counts.Held {
		held[n.Reason] += n.Events
	}
	for reason, n := range held {
		gauge(describeHeld, n, name, string(reason))
	}
}

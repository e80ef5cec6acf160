package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/eventlog"
)

// Progress counts the facts in the transitions of an engine. The engine calls [Progress.Observe] with each transition,
// also with those of the past that it reads at its start: these are not counted.
type Progress struct {
	before    []uint64
	runs      *prometheus.CounterVec
	mutations *prometheus.CounterVec
	discarded prometheus.Counter
	durations *prometheus.HistogramVec

	mu   sync.Mutex
	open map[eventlog.RunID]timing
}

// timing is since when each phase of a run is under way; zero for a phase that is not.
type timing struct {
	prepare, produce, call, next eventlog.Instant
}

// The phases whose durations are measured: the handlers of a script, and the call of its mutation.
const (
	phasePrepare = "prepare" // from the start of a consumer's run until prepare has chosen
	phaseCall    = "call"    // from the mutation's start until its outcome is recorded, also if that is unknown
	phaseNext    = "next"    // from there, or from an empty choice, until the commit
	phaseProduce = "produce" // from the start of a producer's run until the commit
)

// NewProgress makes a Progress that has counted nothing. before are the ends of the log before the engine starts, by
// partition.
func NewProgress(before []uint64) *Progress {
	p := &Progress{
		before: before,
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_runs_total", Help: "Runs that have ended or were suspended, by the status that they came to.",
		}, []string{"status"}),
		mutations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_mutations_total", Help: "Mutations that have come to a status, by status.",
		}, []string{"status"}),
		discarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_discarded_total", Help: "Jobs that were put aside, their attempts used up.",
		}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pawl_phase_seconds", Help: "How long the phases of runs took, as the log has it, by phase.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"phase"}),
		open: map[eventlog.RunID]timing{},
	}
	for _, status := range []eventlog.RunStatus{eventlog.RunStatusCommitted, eventlog.RunStatusPausedTransient,
		eventlog.RunStatusPausedApproval, eventlog.RunStatusPausedReconcile, eventlog.RunStatusFailedLogic,
		eventlog.RunStatusFailedInternal, eventlog.RunStatusCrashed} {
		p.runs.WithLabelValues(string(status))
	}
	for _, status := range []eventlog.MutationStatus{eventlog.MutationStatusAwaitingApproval,
		eventlog.MutationStatusInFlight, eventlog.MutationStatusNeedsReconcile,
		eventlog.MutationStatusIndeterminate, eventlog.MutationStatusApplied, eventlog.MutationStatusFailed,
		eventlog.MutationStatusGivenUp} {
		p.mutations.WithLabelValues(string(status))
	}
	for _, phase := range []string{phasePrepare, phaseCall, phaseNext, phaseProduce} {
		p.durations.WithLabelValues(phase)
	}
	return p
}

// Observe counts what one transition says. It does not block, and is safe for concurrent use.
func (p *Progress) Observe(r eventlog.Record) {
	at := r.Position
	if at.Partition < len(p.before) && at.Seq <= p.before[at.Partition] || r.Workflow == eventlog.Installation {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fact := range r.Facts {
		p.run(fact, r.At)
		p.mutation(fact, r.At)
		if _, ok := fact.(*eventlog.EventDiscarded); ok {
			p.discarded.Inc()
		}
	}
}

// run counts how runs end, and how long their handlers took.
func (p *Progress) run(fact eventlog.Fact, at eventlog.Instant) {
	switch f := fact.(type) {
	case *eventlog.RunStarted:
		switch {
		case f.HandlerType == eventlog.ProducerHandler:
			p.open[f.Run] = timing{produce: at}
		case f.RetryOf != "":
			p.open[f.Run] = timing{next: at}
		default:
			p.open[f.Run] = timing{prepare: at}
		}
	case *eventlog.RunPrepared:
		p.measure(f.Run, func(t *timing) { p.took(phasePrepare, &t.prepare, at) })
	case *eventlog.RunAdvanced:
		if f.Phase == eventlog.PhaseEmitting {
			p.measure(f.Run, func(t *timing) { t.next = at })
		}
	case *eventlog.RunCommitted:
		p.measure(f.Run, func(t *timing) {
			p.took(phaseNext, &t.next, at)
			p.took(phaseProduce, &t.produce, at)
		})
		p.ended(f.Run, eventlog.RunStatusCommitted)
	case *eventlog.RunSuspended:
		p.runs.WithLabelValues(string(eventlog.RunStatusPausedApproval)).Inc()
	case *eventlog.RunFailed:
		p.ended(f.Run, f.Status)
	case *eventlog.RunCrashed:
		p.ended(f.Run, eventlog.RunStatusCrashed)
	}
}

// mutation counts the statuses that mutations reach, and how long their calls took.
func (p *Progress) mutation(fact eventlog.Fact, at eventlog.Instant) {
	status, run := eventlog.MutationStatus(""), eventlog.RunID("")
	switch f := fact.(type) {
	case *eventlog.MutationApprovalRequested:
		status = eventlog.MutationStatusAwaitingApproval
	case *eventlog.MutationStarted:
		status = eventlog.MutationStatusInFlight
		p.measure(f.Run, func(t *timing) { t.call = at })
	case *eventlog.MutationApplied:
		status, run = eventlog.MutationStatusApplied, f.Run
	case *eventlog.MutationFailed:
		status, run = eventlog.MutationStatusFailed, f.Run
	case *eventlog.MutationSkipped:
		status, run = eventlog.MutationStatusFailed, f.Run
	case *eventlog.MutationRefused:
		status = eventlog.MutationStatusFailed
	case *eventlog.MutationReconcileScheduled:
		if f.Attempt > 0 {
			return // the mutation had this status before
		}
		status, run = eventlog.MutationStatusNeedsReconcile, eventlog.RunID(f.Mutation)
	case *eventlog.MutationLeftIndeterminate:
		status, run = eventlog.MutationStatusIndeterminate, eventlog.RunID(f.Mutation)
	case *eventlog.MutationGivenUp:
		status = eventlog.MutationStatusGivenUp
	default:
		return
	}
	p.mutations.WithLabelValues(string(status)).Inc()
	if run != "" {
		p.measure(run, func(t *timing) { p.took(phaseCall, &t.call, at) })
	}
}

// measure changes the times of a run whose start was seen.
func (p *Progress) measure(run eventlog.RunID, change func(*timing)) {
	if t, ok := p.open[run]; ok {
		change(&t)
		p.open[run] = t
	}
}

// took ends a phase that is under way.
func (p *Progress) took(phase string, began *eventlog.Instant, at eventlog.Instant) {
	if *began == 0 {
		return
	}
	p.durations.WithLabelValues(phase).Observe(max(0, at.Time().Sub(began.Time()).Seconds()))
	*began = 0
}

func (p *Progress) ended(run eventlog.RunID, status eventlog.RunStatus) {
	p.runs.WithLabelValues(string(status)).Inc()
	delete(p.open, run)
}

// Describe implements prometheus.Collector.
func (p *Progress) Describe(to chan<- *prometheus.Desc) {
	for _, c := range p.collectors() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (p *Progress) Collect(to chan<- prometheus.Metric) {
	for _, c := range p.collectors() {
		c.Collect(to)
	}
}

func (p *Progress) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.runs, p.mutations, p.discarded, p.durations}
}

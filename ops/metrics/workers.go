package metrics

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/sandbox/worker"
)

// workersCollector reads the metrics of the processes that run scripts.
type workersCollector struct{ report func() worker.Report }

var (
	describeSandbox = prometheus.NewDesc("pawl_sandbox_level",
		"How scripts are confined: the present level has the value 1.", []string{"level"}, nil)
	describeWorkers = prometheus.NewDesc("pawl_script_workers", "Processes that run scripts, by state.",
		[]string{"state"}, nil)
	describeMemory = prometheus.NewDesc("pawl_script_workers_memory_bytes",
		"Resident memory of all processes that run scripts.", nil, nil)
	describeWaiting  = prometheus.NewDesc("pawl_script_calls_waiting", "Handler calls that wait for a process.", nil, nil)
	describeRestarts = prometheus.NewDesc("pawl_script_worker_restarts_total", "Processes that ended and were replaced.",
		nil, nil)
	describeDeaths = prometheus.NewDesc("pawl_script_worker_deaths_total",
		"Processes that ended in a handler call, by the code of its error.", []string{"code"}, nil)
)

// Describe implements prometheus.Collector.
func (workersCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeSandbox, describeWorkers, describeMemory, describeWaiting,
		describeRestarts, describeDeaths} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c workersCollector) Collect(to chan<- prometheus.Metric) {
	r := c.report()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, level := range []string{"full", "partial", "none"} {
		value := 0.0
		if level == r.Sandbox {
			value = 1
		}
		gauge(describeSandbox, value, level)
	}
	states, memory := map[string]int{"idle": 0, "busy": 0, "reading": 0}, int64(0)
	for _, w := range r.Workers {
		states[w.State]++
		memory += w.Memory
	}
	for state, n := range states {
		gauge(describeWorkers, float64(n), state)
	}
	gauge(describeMemory, float64(memory))
	gauge(describeWaiting, float64(r.Waiting))
	to <- prometheus.MustNewConstMetric(describeRestarts, prometheus.CounterValue, float64(r.Restarts))
	deaths := maps.Clone(r.Deaths)
	if deaths == nil {
		deaths = map[string]uint64{}
	}
	for _, code := range worker.DeathCodes {
		deaths[code] += 0 // the metric exists before the first death: a rate needs a beginning
	}
	for code, n := range deaths {
		to <- prometheus.MustNewConstMetric(describeDeaths, prometheus.CounterValue, float64(n), code)
	}
}

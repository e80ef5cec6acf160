package subscription

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/ops/outgoing"
)

// figures are the metrics of deliveries for Prometheus.
type figures struct {
	list     func() []Status
	attempts *prometheus.CounterVec
	gaps     *prometheus.CounterVec
}

var (
	describeOldest = prometheus.NewDesc("pawl_subscription_lag_seconds",
		"Age of the oldest message that waits to be delivered, by subscription; 0 when none waits.",
		[]string{"subscription"}, nil)
	describeParked = prometheus.NewDesc("pawl_subscription_parked",
		"1 for a subscription that is parked: nothing is sent until a person resumes it.", []string{"subscription"}, nil)
)

// newFigures makes the metrics of subscriptions; list returns their status.
func newFigures(subscriptions []Subscription, list func() []Status) *figures {
	f := &figures{list: list,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_subscription_attempts_total",
			Help: "Attempts to deliver a message, by subscription and result (delivered or failed).",
		}, []string{"subscription", "result"}),
		gaps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pawl_subscription_gaps_total",
			Help: "How often messages were dropped before they were delivered, by subscription.",
		}, []string{"subscription"}),
	}
	for _, s := range subscriptions {
		f.attempts.WithLabelValues(s.Name, resultDelivered)
		f.attempts.WithLabelValues(s.Name, resultFailed)
		f.gaps.WithLabelValues(s.Name)
	}
	return f
}

const (
	resultDelivered = "delivered"
	resultFailed    = "failed"
)

// attempted counts the attempts of a subscription.
func (f *figures) attempted(name string) func(outgoing.Result) {
	delivered, failed := f.attempts.WithLabelValues(name, resultDelivered), f.attempts.WithLabelValues(name, resultFailed)
	return func(r outgoing.Result) {
		if r.Err == nil {
			delivered.Inc()
		} else {
			failed.Inc()
		}
	}
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	to <- describeOldest
	to <- describeParked
	f.attempts.Describe(to)
	f.gaps.Describe(to)
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	for _, s := range f.list() {
		age, isParked := 0.0, 0.0
		if s.Oldest != 0 {
			age = max(0, time.Since(s.Oldest.Time()).Seconds())
		}
		if s.State == StateParked {
			isParked = 1
		}
		to <- prometheus.MustNewConstMetric(describeOldest, prometheus.GaugeValue, age, s.Name)
		to <- prometheus.MustNewConstMetric(describeParked, prometheus.GaugeValue, isParked, s.Name)
	}
	f.attempts.Collect(to)
	f.gaps.Collect(to)
}

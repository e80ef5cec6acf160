package feed

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are the feed's metrics for Prometheus.
type figures struct {
	lag        func(partition int) uint64
	partitions int
	messages   prometheus.Counter
	failures   prometheus.Counter
	delay      prometheus.Histogram
}

var describeLag = prometheus.NewDesc("pawl_feed_lag",
	"Transitions in the log that are not in the feed, by partition.", []string{"partition"}, nil)

func newFigures(lag func(int) uint64, partitions int) *figures {
	return &figures{
		lag: lag, partitions: partitions,
		messages: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_feed_messages_total", Help: "Messages that were published to the feed.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pawl_feed_failures_total",
			Help: "How often publishing failed and began again behind the feed's last message.",
		}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "pawl_feed_delay_seconds",
			Help:    "How long the oldest transition of each group waited until the feed had it.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
}

// took counts a group of messages; oldest is when the first was observed, zero where that is not known.
func (f *figures) took(messages int, oldest time.Time) {
	f.messages.Add(float64(messages))
	if !oldest.IsZero() {
		f.delay.Observe(time.Since(oldest).Seconds())
	}
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	to <- describeLag
	for _, c := range []prometheus.Collector{f.messages, f.failures, f.delay} {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	for p := range f.partitions {
		to <- prometheus.MustNewConstMetric(describeLag, prometheus.GaugeValue, float64(f.lag(p)), strconv.Itoa(p))
	}
	for _, c := range []prometheus.Collector{f.messages, f.failures, f.delay} {
		c.Collect(to)
	}
}

package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/engine"
)

// partitionCollector reads what an engine of a cluster knows of the partitions.
type partitionCollector struct{ engine *engine.Engine }

var (
	describeOwned = prometheus.NewDesc("pawl_partition_owned", "Whether this engine owns the partition.",
		[]string{"partition"}, nil)
	describeOwner = prometheus.NewDesc("pawl_partition_owner", "1, with the node that holds the partition.",
		[]string{"partition", "node"}, nil)
	describeUnowned = prometheus.NewDesc("pawl_partitions_unowned", "Partitions that no engine holds.", nil, nil)
	describeEpoch   = prometheus.NewDesc("pawl_partition_epoch", "How often the partition was taken, by any engine.",
		[]string{"partition"}, nil)
	describeBehind = prometheus.NewDesc("pawl_partition_lag_seconds",
		"For how long this engine may lack what others have written.", []string{"partition"}, nil)
	describeTaken = prometheus.NewDesc("pawl_partition_handovers_total",
		"How often this engine was given the partition.", []string{"partition"}, nil)
	describeRefused = prometheus.NewDesc("pawl_partition_refused_writes_total",
		"Requests that found no owner of the partition in time.", []string{"partition"}, nil)
	describeDamaged = prometheus.NewDesc("pawl_partition_stopped",
		"Whether the partition is out of service on this engine because its log is damaged.", []string{"partition"}, nil)
)

// Describe implements prometheus.Collector.
func (c partitionCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeOwned, describeOwner, describeUnowned, describeEpoch, describeBehind,
		describeTaken, describeRefused, describeDamaged} {
		to <- d
	}
}

// Collect implements prometheus.Collector. An engine that is alone reports nothing.
func (c partitionCollector) Collect(to chan<- prometheus.Metric) {
	if _, shares := c.engine.Behind(); !shares {
		return
	}
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	whether := map[bool]float64{true: 1}
	unowned := 0
	for _, p := range c.engine.Partitions() {
		number := strconv.Itoa(p.Number)
		tell(describeOwned, prometheus.GaugeValue, whether[p.Owned], number)
		if p.Held {
			tell(describeOwner, prometheus.GaugeValue, 1, number, p.Owner.Node)
		} else {
			unowned++
		}
		tell(describeEpoch, prometheus.GaugeValue, float64(p.Owner.Epoch), number)
		tell(describeBehind, prometheus.GaugeValue, p.Behind.Seconds(), number)
		tell(describeTaken, prometheus.CounterValue, float64(p.Taken), number)
		tell(describeRefused, prometheus.CounterValue, float64(p.Refused), number)
		tell(describeDamaged, prometheus.GaugeValue, whether[p.Stopped != nil], number)
	}
	tell(describeUnowned, prometheus.GaugeValue, float64(unowned))
}

package eventlog

import "time"

// Version is a workflow's `MAJOR.MINOR`: a deploy raises MAJOR, a repair MINOR.
type Version string

// Definition is what a deploy accepted: checked, complete, and pinned in the log.
type Definition struct {
	Topics     []Topic     `msgpack:"topics" json:"topics"`
	Producers  []Producer  `msgpack:"producers" json:"producers"`
	Consumers  []Consumer  `msgpack:"consumers" json:"consumers"`
	Operations []Operation `msgpack:"operations" json:"operations"`
}

// Producer is a read-only handler that runs on a schedule (S2).
type Producer struct {
	Name Handler `msgpack:"name" json:"name"`
	// Interval in milliseconds, or Cron with an optional IANA Timezone.
	IntervalMS int64  `msgpack:"intervalMs,omitempty" json:"intervalMs,omitempty"`
	Cron       string `msgpack:"cron,omitempty" json:"cron,omitempty"`
	Timezone   string `msgpack:"timezone,omitempty" json:"timezone,omitempty"`
	// RunOnDeploy makes it run at each deploy of a changed script too.
	RunOnDeploy bool `msgpack:"runOnDeploy,omitempty" json:"runOnDeploy,omitempty"`
	// Publishes narrows the topics it may publish to when Declared (S8).
	Publishes         []Topic `msgpack:"publishes,omitempty" json:"publishes,omitempty"`
	PublishesDeclared bool    `msgpack:"publishesDeclared,omitempty" json:"publishesDeclared,omitempty"`
}

// SameSchedule reports whether both are due at the same times.
func (p Producer) SameSchedule(q Producer) bool {
	return p.IntervalMS == q.IntervalMS && p.Cron == q.Cron && p.Timezone == q.Timezone
}

// Interval returns the time between two runs, zero for a cron producer.
func (p Producer) Interval() time.Duration { return time.Duration(p.IntervalMS) * time.Millisecond }

// Consumer processes the events of the topics it subscribes to.
type Consumer struct {
	Name              Handler `msgpack:"name" json:"name"`
	Subscribe         []Topic `msgpack:"subscribe" json:"subscribe"`
	Publishes         []Topic `msgpack:"publishes,omitempty" json:"publishes,omitempty"`
	PublishesDeclared bool    `msgpack:"publishesDeclared,omitempty" json:"publishesDeclared,omitempty"`
	HasMutate         bool    `msgpack:"hasMutate" json:"hasMutate"`
	HasNext           bool    `msgpack:"hasNext" json:"hasNext"`
	// MutateByID allows get operations in mutate (R6).
	MutateByID bool `msgpack:"mutateById,omitempty" json:"mutateById,omitempty"`
	// MaxAttempts is nil when unset (J2).
	MaxAttempts *int `msgpack:"maxAttempts,omitempty" json:"maxAttempts,omitempty"`
	// Concurrency is how many of its runs may be active, each for one event; 0 for a plain consumer (C1).
	Concurrency int `msgpack:"concurrency,omitempty" json:"concurrency,omitempty"`
	// Key is a path into the payload: events with the same value there are worked on one after the other (C2).
	Key string `msgpack:"key,omitempty" json:"key,omitempty"`
	// Rate bounds how often a run begins, as in "10/s"; empty for no bound (C12).
	Rate string `msgpack:"rate,omitempty" json:"rate,omitempty"`
}

// MaxConcurrency is the most that a consumer's Concurrency may be (C1).
const MaxConcurrency = 256

// SameConcurrency reports whether both have as many runs at once, in the same order and as often.
func (c Consumer) SameConcurrency(d Consumer) bool {
	return c.Concurrency == d.Concurrency && c.Key == d.Key && c.Rate == d.Rate
}

// Concurrent reports whether each of its runs works on one event, beside others (C1).
func (c Consumer) Concurrent() bool { return c.Concurrency > 0 }

// Spacing is the time from the start of one run to that of the next, zero for none (C12). A rate that cannot be read
// is none: a deploy refuses it.
func (c Consumer) Spacing() time.Duration {
	rate, err := ParseRate(c.Rate)
	if err != nil {
		return 0
	}
	return rate.Spacing()
}

// Operation is a connector operation that the script uses, as the deploy found it.
type Operation struct {
	Connector string `msgpack:"connector" json:"connector"`
	Operation string `msgpack:"operation" json:"operation"`
	// Kind is "list", "get" or "mutate".
	Kind       string `msgpack:"kind" json:"kind"`
	Schema     []byte `msgpack:"schema,omitempty" json:"-"`
	Reconciles bool   `msgpack:"reconciles,omitempty" json:"reconciles"`
	TimeoutMS  int64  `msgpack:"timeoutMs" json:"timeoutMs"`
}

// Capability is `connector.operation`, the thing that is granted.
func (o Operation) Capability() string { return o.Connector + "." + o.Operation }

// Timeout bounds one call.
func (o Operation) Timeout() time.Duration { return time.Duration(o.TimeoutMS) * time.Millisecond }

// Consumer returns the named consumer.
func (d *Definition) Consumer(name Handler) (Consumer, bool) {
	for _, c := range d.Consumers {
		if c.Name == name {
			return c, true
		}
	}
	return Consumer{}, false
}

// Producer returns the named producer.
func (d *Definition) Producer(name Handler) (Producer, bool) {
	for _, p := range d.Producers {
		if p.Name == name {
			return p, true
		}
	}
	return Producer{}, false
}

// Subscriber returns the one consumer subscribed to the topic (S8), if any.
func (d *Definition) Subscriber(topic Topic) (Consumer, bool) {
	for _, c := range d.Consumers {
		for _, t := range c.Subscribe {
			if t == topic {
				return c, true
			}
		}
	}
	return Consumer{}, false
}

// HasTopic reports whether the topic is declared.
func (d *Definition) HasTopic(topic Topic) bool {
	for _, t := range d.Topics {
		if t == topic {
			return true
		}
	}
	return false
}

// Operation returns the pinned operation.
func (d *Definition) Operation(connector, operation string) (Operation, bool) {
	for _, o := range d.Operations {
		if o.Connector == connector && o.Operation == operation {
			return o, true
		}
	}
	return Operation{}, false
}

package eventlog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is a workflow's `MAJOR.MINOR`: a deploy raises MAJOR, a repair MINOR.
type Version string

// Compare is negative where the version was deployed before the other one, 0 where both are the same, and positive
// where it was deployed after. A text that is no version comes before all versions.
func (v Version) Compare(other Version) int {
	major, minor := v.numbers()
	otherMajor, otherMinor := other.numbers()
	return cmp.Or(cmp.Compare(major, otherMajor), cmp.Compare(minor, otherMinor))
}

// Repaired reports whether the version is a repair of a deployed one (F9).
func (v Version) Repaired() bool {
	_, minor := v.numbers()
	return minor > 0
}

// Next is the version after this one: a repair raises MINOR (F9), any other deploy MAJOR. The first is 1.0.
func (v Version) Next(repair bool) Version {
	if v == "" {
		return "1.0"
	}
	major, minor := v.numbers()
	if repair {
		return Version(fmt.Sprintf("%d.%d", major, minor+1))
	}
	return Version(fmt.Sprintf("%d.0", major+1))
}

func (v Version) numbers() (major, minor int) {
	a, b, _ := strings.Cut(string(v), ".")
	major, err := strconv.Atoi(a)
	if err != nil {
		return -1, -1
	}
	if minor, err = strconv.Atoi(b); err != nil {
		return -1, -1
	}
	return major, minor
}

// Definition is what a deploy accepted: checked, complete, and pinned in the log.
type Definition struct {
	Topics     []Topic     `msgpack:"topics" json:"topics"`
	Producers  []Producer  `msgpack:"producers" json:"producers"`
	Consumers  []Consumer  `msgpack:"consumers" json:"consumers"`
	Operations []Operation `msgpack:"operations" json:"operations"`
	// Hooks are the addresses at which other systems post to the workflow.
	Hooks []Hook `msgpack:"hooks,omitempty" json:"hooks,omitempty"`
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
	// MutateReadsByID allows get operations in mutate (R6).
	MutateReadsByID bool `msgpack:"mutateById,omitempty" json:"mutateById,omitempty"`
	// MaxAttempts is nil when unset (J2).
	MaxAttempts *int `msgpack:"maxAttempts,omitempty" json:"maxAttempts,omitempty"`
	// Concurrency is how many of its runs may be active, each for one event; 0 for a plain consumer (C1).
	Concurrency int `msgpack:"concurrency,omitempty" json:"concurrency,omitempty"`
	// Key is a path into the payload: events with the same value there are worked on one after the other (C2).
	Key string `msgpack:"key,omitempty" json:"key,omitempty"`
	// Rate bounds how often a run begins, as in "10/s"; empty for no bound (C12).
	Rate string `msgpack:"rate,omitempty" json:"rate,omitempty"`
	// Approval says whether a person approves its calls although they are granted: each call, those for which its
	// script asks, or none (O5).
	Approval Approval `msgpack:"approval,omitempty" json:"approval,omitempty"`
	// DeadLetter is a topic. For each event that the consumer discards, a new event is published there; empty for none
	// (J7).
	DeadLetter Topic `msgpack:"deadLetter,omitempty" json:"deadLetter,omitempty"`
}

// Approval is what a script asks of people beyond what is granted.
type Approval string

// The ways in which a consumer asks; empty for not at all.
const (
	ApprovalAlways   Approval = "ask"
	ApprovalByScript Approval = "script"
)

// Asks names the first consumer whose script asks people about its calls (O5); false where none does.
func (d *Definition) Asks() (Handler, bool) {
	for _, c := range d.Consumers {
		if c.Approval != "" {
			return c.Name, true
		}
	}
	return "", false
}

// MaxConcurrency is the most that a consumer's Concurrency may be (C1).
const MaxConcurrency = 256

// Concurrent reports whether each of its runs works on one event, at the same time as others (C1).
func (c Consumer) Concurrent() bool { return c.Concurrency > 0 }

// Subscribes reports whether the consumer takes the topic's events.
func (c Consumer) Subscribes(topic Topic) bool { return slices.Contains(c.Subscribe, topic) }

// Spacing is the time from the start of one run to that of the next, zero for none (C12). A rate that cannot be read
// is none: a deploy refuses it.
func (c Consumer) Spacing() time.Duration {
	rate, err := ParseRate(c.Rate)
	if err != nil {
		return 0
	}
	return rate.Spacing()
}

// Hook is an address that another system posts to, /hooks/{workflow}/{name}: a request that is verified becomes an
// event.
type Hook struct {
	Name   HookName   `msgpack:"name" json:"name"`
	Topic  Topic      `msgpack:"topic" json:"topic"`
	Verify HookVerify `msgpack:"verify" json:"verify"`
	// ID and Title are templates over the request, for the event's messageId and title.
	ID    string `msgpack:"id" json:"id"`
	Title string `msgpack:"title" json:"title"`
	// Headers names the request headers that become a part of the payload.
	Headers []string    `msgpack:"headers,omitempty" json:"headers,omitempty"`
	Respond *HookAnswer `msgpack:"respond,omitempty" json:"respond,omitempty"`
}

// HookVerify says how a request proves its sender. Package engine/hook interprets it.
type HookVerify struct {
	// Scheme names a known sender's scheme, or is "hmac", "token" or "none".
	Scheme string `msgpack:"scheme" json:"scheme"`
	// Secret is the name of a configured secret, empty for scheme none.
	Secret string `msgpack:"secret,omitempty" json:"secret,omitempty"`
	// Hash, SecretEncoding, Signed, Signatures and Timestamp are settings of scheme hmac.
	Hash           string          `msgpack:"hash,omitempty" json:"hash,omitempty"`
	SecretEncoding string          `msgpack:"secretEncoding,omitempty" json:"secretEncoding,omitempty"`
	Signed         string          `msgpack:"signed,omitempty" json:"signed,omitempty"`
	Signatures     *HookSignatures `msgpack:"signatures,omitempty" json:"signatures,omitempty"`
	Timestamp      *HookTimestamp  `msgpack:"timestamp,omitempty" json:"timestamp,omitempty"`
	// Header or Query is where a token stands.
	Header string `msgpack:"header,omitempty" json:"header,omitempty"`
	Query  string `msgpack:"query,omitempty" json:"query,omitempty"`
}

// HookSignatures says where a request carries its signatures, and how they are written.
type HookSignatures struct {
	Header string `msgpack:"header" json:"header"`
	// Split separates several of them, empty for one; Prefix stands before each that counts.
	Split  string `msgpack:"split,omitempty" json:"split,omitempty"`
	Prefix string `msgpack:"prefix,omitempty" json:"prefix,omitempty"`
	// Encoding is "hex" or "base64".
	Encoding string `msgpack:"encoding" json:"encoding"`
}

// HookTimestamp says where a request carries its time: in a Header of its own, or behind the prefix In among the
// signatures. Format is "unix", "unixMillis" or "rfc3339".
type HookTimestamp struct {
	Header      string `msgpack:"header,omitempty" json:"header,omitempty"`
	In          string `msgpack:"in,omitempty" json:"in,omitempty"`
	Format      string `msgpack:"format" json:"format"`
	ToleranceMS int64  `msgpack:"toleranceMs" json:"toleranceMs"`
}

// Tolerance is how far the time of a request may be from the engine's.
func (t HookTimestamp) Tolerance() time.Duration {
	return time.Duration(t.ToleranceMS) * time.Millisecond
}

// HookAnswer is what a verified request is answered with, once its event is durable.
type HookAnswer struct {
	// Status is 0 for the usual one.
	Status int `msgpack:"status,omitempty" json:"status,omitempty"`
	// Media is the type of Body, empty for the usual answer.
	Media string `msgpack:"media,omitempty" json:"media,omitempty"`
	Body  string `msgpack:"body,omitempty" json:"body,omitempty"`
	// Challenge is a template over the request: a request that has every value it names is answered with the filled
	// template, and becomes no event.
	Challenge string `msgpack:"challenge,omitempty" json:"challenge,omitempty"`
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
	return find(d.Consumers, func(c *Consumer) bool { return c.Name == name })
}

// Producer returns the named producer.
func (d *Definition) Producer(name Handler) (Producer, bool) {
	return find(d.Producers, func(p *Producer) bool { return p.Name == name })
}

// Subscriber returns the one consumer subscribed to the topic (S8), if any.
func (d *Definition) Subscriber(topic Topic) (Consumer, bool) {
	return find(d.Consumers, func(c *Consumer) bool { return c.Subscribes(topic) })
}

// HasTopic reports whether the topic is declared.
func (d *Definition) HasTopic(topic Topic) bool {
	return slices.Contains(d.Topics, topic)
}

// Operation returns the pinned operation.
func (d *Definition) Operation(connector, operation string) (Operation, bool) {
	return find(d.Operations, func(o *Operation) bool { return o.Connector == connector && o.Operation == operation })
}

// Hook returns the named hook.
func (d *Definition) Hook(name HookName) (Hook, bool) {
	return find(d.Hooks, func(h *Hook) bool { return h.Name == name })
}

// find returns the first of the list that fits, false for none.
func find[T any](list []T, fits func(*T) bool) (found T, ok bool) {
	for i := range list {
		if fits(&list[i]) {
			return list[i], true
		}
	}
	return found, false
}

// secretPrefix stands before the name of a secret in a capability. No connector is called secret.
const secretPrefix = "secret."

// SecretCapability is the capability to use a configured secret: `secret.NAME`.
func SecretCapability(name string) string { return secretPrefix + name }

// SecretOf is the name of the secret that a capability is about, false for any other capability.
func SecretOf(capability string) (name string, ok bool) {
	return strings.CutPrefix(capability, secretPrefix)
}

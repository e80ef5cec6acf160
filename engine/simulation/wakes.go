package simulation

import (
	"encoding/json"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// fact follows one fact of the workflow's log.
func (k *wakes) fact(b *book, f eventlog.Fact) {
	switch f := f.(type) {
	case *eventlog.EventPublished:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventReleased:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRetryScheduled:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRedriven:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.WorkflowDeployed:
		clear(k.left) // a new version looks at everything again
	case *eventlog.RunCommitted:
		run := b.run(f.Run)
		var result struct{ Data prepared }
		if run.Type != eventlog.ConsumerHandler || run.RetryOf != "" || len(run.Reserved) > 0 ||
			json.Unmarshal(run.PrepareResult, &result) != nil {
			return
		}
		for ref, n := range k.peeked[result.Data.Tag] {
			k.left[ref] = n
		}
	}
}

// arrivals looks at what has come up to the gate since the last move.
func (j *judge) arrivals() {
	for _, o := range j.sim.gate.waiting(func(*node) bool { return true }) {
		if o.looked {
			continue
		}
		o.looked = true
		switch {
		case o.kind == opScript && o.script.Phase == sandbox.Prepare:
			o.seen = map[eventlog.EventRef]int{}
			became := j.book(o.workflow).wakes.became
			for topic, events := range o.script.Pending {
				for _, e := range events {
					ref := eventlog.EventRef{Topic: eventlog.Topic(topic), MessageID: eventlog.MessageID(e.MessageID)}
					o.seen[ref] = became[ref]
				}
			}
		case o.kind == opPerform:
			if started := j.started[o.call.Key]; started != nil && !j.sim.clock.Now().Before(started.Deadline.Time()) {
				j.sim.violate("mutation %s is about to leave after its deadline", j.sim.alias(o.call.Key))
			}
			j.pinned(o)
		}
	}
}

// pinned: what leaves is a call of the tool that its run's version was deployed with.
func (j *judge) pinned(o *op) {
	b := j.book(o.workflow)
	s := b.state()
	run := s.Run(o.call.Run)
	if run == nil {
		return // it has left before its record; sent says so
	}
	if pin, ok := s.Script(run.Version).Definition.Operation(connectorName, o.call.Operation); ok &&
		o.call.Operation == opSend && pin.Reconciles == j.sim.mute.Load() {
		j.sim.violate("mutation %s is about to leave for a tool that is not what version %s was deployed with",
			j.sim.alias(o.call.Key), run.Version)
	}
}

// awake: at rest, every visible event of a subscribed topic was seen by a run that left it.
func (j *judge) awake(n *node, s *projections.State, why decide.Reason) {
	if why.Meaning() != decide.Rests {
		return
	}
	b := j.book(s.Name)
	if s.Head.Revision != uint64(len(b.past)) {
		return // it does not know the present
	}
	now := eventlog.At(j.sim.clock.Now())
	full := b.state() // the engine itself may have paged some out
	for _, e := range full.Events() {
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		if c, ok := s.Definition().Subscriber(e.Topic); ok && !c.Concurrent() && e.Visible(now) &&
			b.wakes.left[ref] != b.wakes.became[ref] {
			j.sim.violate("engine %d rests (%s) while event %s of topic %s in %s is pending and no run has looked at it (S3)",
				n.number, why, e.MessageID, e.Topic, s.Name)
		}
	}
}

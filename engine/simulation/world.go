package simulation

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// world is what happened outside. Only the driver touches it.
type world struct {
	requests map[string]*request // by idempotency key
	order    []*request
	effects  map[place]int // how often something happened for an event
	excused  map[place]int // how often a person allowed it to happen again
}

// place is a topic event of a workflow.
type place struct {
	workflow eventlog.WorkflowName
	ref      eventlog.EventRef
}

// request is one mutation as the receiver knows it.
type request struct {
	key  string
	call connector.Call
	prepared
	node    *node
	sent    int
	effects int
	excused bool // a person has spoken since it was made: what it was made for may happen again
	// refused says that it can never be applied any more: the receiver has written that down.
	refused bool
	// until is how long the receiver may still be busy with it: quiet after the end of its call, unseen after
	// its deadline if the call was cut off.
	until time.Time
	// silentUntil is when a call without a reply ends; zero when it got one.
	silentUntil time.Time
	toldLate    bool
	// exchange is that of a call whose connector listens on after the deadline; nil otherwise.
	exchange *exchange
	// retryAfter is for how long the receiver wanted to be left alone when it refused; zero when it did not say.
	retryAfter time.Duration
}

func newWorld() *world {
	return &world{requests: map[string]*request{}, effects: map[place]int{}, excused: map[place]int{}}
}

func (w *world) request(call connector.Call) *request {
	r, ok := w.requests[call.Key]
	if !ok {
		r = &request{key: call.Key, call: call}
		w.requests[call.Key] = r
		w.order = append(w.order, r)
	}
	return r
}

// open reports whether the receiver has the request and may still apply it.
func (r *request) open() bool { return r.sent > 0 && r.effects == 0 && !r.refused }

// busy reports whether the receiver may still be at work on the request.
func (r *request) busy(now time.Time) bool { return r.open() && now.Before(r.until) }

// send takes a released request: it leaves now.
func (s *sim) send(o *op) *request {
	r := s.world.request(o.call)
	r.call, r.node = o.call, o.node
	if err := json.Unmarshal(o.call.Params, &r.prepared); err != nil {
		s.violate("mutation %s was sent with parameters that no script gave: %s", r.key, o.call.Params)
	}
	if r.sent++; r.sent > 1 {
		s.violate("mutation %s was sent %d times", s.alias(r.key), r.sent)
	}
	s.judge.sent(r)
	return r
}

// apply has the effect.
func (s *sim) apply(r *request) {
	r.effects++
	if r.effects > 1 || r.refused {
		s.violate("mutation %s took effect %d times (refused: %v)", s.alias(r.key), r.effects, r.refused)
	}
	s.judge.applied(r)
	for _, ref := range r.Refs {
		at := place{r.call.Workflow, ref}
		s.world.effects[at]++
		if n, most := s.world.effects[at], 1+s.world.excused[at]; n > most {
			s.violate("event %s of topic %s in %s saw %d effects; people allowed %d", ref.MessageID, ref.Topic, r.call.Workflow,
				n, most)
		}
	}
}

// result is what the receiver answers for an applied request.
func (r *request) result() json.RawMessage {
	result, _ := json.Marshal(map[string]int{"tag": r.Tag})
	return result
}

// excuse notes that a person has said that it did not happen, or asked for the event again.
func (w *world) excuse(workflow eventlog.WorkflowName, refs ...eventlog.EventRef) {
	for _, ref := range refs {
		w.excused[place{workflow, ref}]++
	}
	for _, r := range w.order {
		if r.call.Workflow == workflow && slices.ContainsFunc(r.Refs, func(ref eventlog.EventRef) bool {
			return slices.Contains(refs, ref)
		}) {
			r.excused = true
		}
	}
}

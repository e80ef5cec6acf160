package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
)

// sight is how far prepare sees: the oldest events of each topic, at most so many and, but for
// the first, so many bytes.
type sight struct{ events, bytes int }

// Most scripts look at a few events. What goes in with every call is what these see; a script that
// looks further is called again, and from then on gets all it may see at once.
var (
	nearSight = sight{events: 100, bytes: 64 << 10}
	farSight  = sight{events: 1000, bytes: 4 << 20}
)

// peekable is what peek and getByIds can see: pending events of the subscribed topics, oldest
// first. It names the topics of which there are more. What of them is paged out comes back into
// memory: the state that it returns has it all.
func (a *aggregate) peekable(ctx context.Context, s *projections.State, c eventlog.Consumer, now eventlog.Instant, most sight) (seen *projections.State, pending map[string][]sandbox.Event, more []string, err error) {
	pending, more, err = view(s, c, now, most, resident)
	if !errors.Is(err, errPagedOut) {
		return s, pending, more, err
	}
	if err := a.lock(ctx); err != nil {
		return s, nil, nil, err
	}
	defer a.recorded()
	seen = a.state()
	rows := &pager{workflow: a}
	defer func() { err = errors.Join(err, rows.close()) }()
	if pending, more, err = view(seen, c, now, most, rows.event); err != nil || len(rows.read) == 0 {
		return seen, pending, more, err
	}
	hydrated := seen.Hydrate(rows.read...)
	a.memory.Hydrated(hydrated) // nothing else has changed
	return &hydrated, pending, more, nil
}

// reader gives a pending event by its place.
type reader func(*projections.State, eventlog.Topic, projections.Ordinal) (*projections.TopicEvent, error)

// view is what the consumer can see in the state.
func view(s *projections.State, c eventlog.Consumer, now eventlog.Instant, most sight, event reader) (pending map[string][]sandbox.Event, more []string, err error) {
	pending = make(map[string][]sandbox.Event, len(c.Subscribe))
	for _, topic := range c.Subscribe {
		events, bytes := []sandbox.Event{}, 0
		for q := range s.Queue(topic) {
			if !q.Visible(now) {
				continue
			}
			if len(events) == most.events {
				more = append(more, string(topic))
				break
			}
			e, err := event(s, topic, q.Created)
			if err != nil {
				return nil, nil, err
			}
			if bytes += len(e.Payload) + len(e.Title); bytes > most.bytes && len(events) > 0 {
				more = append(more, string(topic))
				break
			}
			events = append(events, sandbox.Event{MessageID: string(e.MessageID), Topic: string(topic), Title: e.Title, Payload: e.Payload})
		}
		pending[string(topic)] = events
	}
	return pending, more, nil
}

var errPagedOut = errors.New("a pending event is paged out")

// resident gives an event that is in memory.
func resident(s *projections.State, topic eventlog.Topic, at projections.Ordinal) (*projections.TopicEvent, error) {
	if e := s.PendingAt(topic, at); e != nil {
		return e, nil
	}
	return nil, errPagedOut
}

// pager reads pending events that are paged out. Under recording: what is paged out is in the store
// as it is, and nothing changes it.
type pager struct {
	workflow *aggregate
	queue    *store.Queue
	read     []any
}

func (p *pager) event(s *projections.State, topic eventlog.Topic, at projections.Ordinal) (*projections.TopicEvent, error) {
	if e := s.PendingAt(topic, at); e != nil {
		return e, nil
	}
	a := p.workflow
	if p.queue == nil {
		queue, err := a.engine.cfg.Store.Queue(a.name, a.partition)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errPaging, err)
		}
		p.queue = queue
	}
	e, err := p.queue.Event(at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPaging, err)
	}
	p.read = append(p.read, e)
	return e, nil
}

func (p *pager) close() error {
	if p.queue == nil {
		return nil
	}
	return p.queue.Close()
}

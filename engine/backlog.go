package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
)

// backlog is what handler calls may see of a workflow. It implements handler.Workflow.
type backlog struct{ *aggregate }

// State implements handler.Workflow.
func (b backlog) State() *projections.State { return b.state() }

// Peek implements handler.Workflow. What is paged out comes back into memory: the state that it returns has it all.
func (b backlog) Peek(
	ctx context.Context, s *projections.State, c eventlog.Consumer, now eventlog.Instant, most handler.PeekLimit,
) (seen *projections.State, pending map[string][]sandbox.Event, more []string, err error) {
	a := b.aggregate
	pending, more, err = view(s, c, now, most, resident)
	if !errors.Is(err, errPagedOut) {
		return s, pending, more, err
	}
	if err := a.lock(ctx); err != nil {
		return s, nil, nil, err
	}
	defer a.endRecording()
	seen = a.state()
	rows := &pager{workflow: a}
	defer func() { err = errors.Join(err, rows.close()) }()
	if pending, more, err = view(seen, c, now, most, rows.event); err != nil || len(rows.read) == 0 {
		return seen, pending, more, err
	}
	hydrated := seen.Hydrate(rows.read...)
	a.memory.Hydrated(hydrated) // nothing else has changed
	return hydrated, pending, more, nil
}

// reader gives a pending event by its place.
type reader func(*projections.State, eventlog.Topic, projections.Ordinal) (*projections.TopicEvent, error)

// view is what the consumer can see in the state.
func view(
	s *projections.State, c eventlog.Consumer, now eventlog.Instant, most handler.PeekLimit, event reader,
) (pending map[string][]sandbox.Event, more []string, err error) {
	pending = make(map[string][]sandbox.Event, len(c.Subscribe))
	for _, topic := range c.Subscribe {
		events, bytes := []sandbox.Event{}, 0
		for q := range s.Queue(topic) {
			if !q.Visible(now) {
				continue
			}
			if len(events) == most.Events {
				more = append(more, string(topic))
				break
			}
			e, err := event(s, topic, q.Created)
			if err != nil {
				return nil, nil, err
			}
			shown := handler.Shown(e)
			if bytes += shown.Size(); bytes > most.Bytes && len(events) > 0 {
				more = append(more, string(topic))
				break
			}
			events = append(events, shown)
		}
		pending[string(topic)] = events
	}
	return pending, more, nil
}

// After implements handler.Workflow. The event that it goes on after may have any status: its place stays.
func (b backlog) After(
	ctx context.Context, topic eventlog.Topic, id eventlog.MessageID, now eventlog.Instant, most handler.PeekLimit,
) (events []sandbox.Event, err error) {
	a := b.aggregate
	found, err := b.Events(topic, []string{string(id)})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &eventlog.Failure{Class: eventlog.Logic, Code: "call.params", Message: fmt.Sprintf("ctx.peek: topic %s "+
			"has no event %q to go on after", topic, eventlog.ClipName(string(id)))}
	}
	if err := a.lock(ctx); err != nil {
		return nil, err
	}
	defer a.endRecording()
	rows := &pager{workflow: a}
	defer func() { err = errors.Join(err, rows.close()) }()
	s, bytes := a.state(), 0
	events = []sandbox.Event{}
	for q := range s.QueueAfter(topic, found[0].Created) {
		if !q.Visible(now) {
			continue
		}
		e, err := rows.event(s, topic, q.Created)
		if err != nil {
			return nil, err
		}
		shown := handler.Shown(e)
		if bytes += shown.Size(); len(events) == most.Events || bytes > most.Bytes && len(events) > 0 {
			break
		}
		events = append(events, shown)
	}
	return events, nil
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

func (p *pager) event(
	s *projections.State, topic eventlog.Topic, at projections.Ordinal,
) (*projections.TopicEvent, error) {
	if e := s.PendingAt(topic, at); e != nil {
		return e, nil
	}
	a := p.workflow
	if p.queue == nil {
		queue, err := a.engine.Config.Store.Queue(a.name, a.partition)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", handler.ErrPaging, err)
		}
		p.queue = queue
	}
	e, err := p.queue.Event(at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", handler.ErrPaging, err)
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

// Events implements handler.Workflow. An event that is not in memory is in the store, as the newest state has
// it or newer.
func (b backlog) Events(topic eventlog.Topic, ids []string) ([]*projections.TopicEvent, error) {
	a := b.aggregate
	s := a.state()
	var events []*projections.TopicEvent
	var away []projections.Key
	for _, id := range ids {
		if e := s.Event(topic, eventlog.MessageID(id)); e != nil {
			events = append(events, e)
		} else if eventlog.MessageID(id).Validate() == nil {
			away = append(away, projections.EventKey(topic, eventlog.MessageID(id)))
		}
	}
	rows, err := a.engine.Config.Store.Get(a.name, away)
	if err != nil {
		return nil, &eventlog.Failure{ // F11
			Class: eventlog.Transient, Code: eventlog.CodeStorageRead,
			Message: "events cannot be read from the local store: " + eventlog.ClipText(err.Error()),
		}
	}
	for _, row := range rows {
		if e, ok := row.(*projections.TopicEvent); ok {
			events = append(events, e)
		}
	}
	return events, nil
}

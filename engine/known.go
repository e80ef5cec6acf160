package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// readAtOnce is how many events one look into the store brings: their payloads are in memory together.
const readAtOnce = 16

// getByIDs answers ctx.getByIds for events that did not go in with the call, whatever their status (R19).
func (h *host) getByIDs(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	began := time.Now()
	var query sandbox.IDsQuery
	if err := json.Unmarshal(params, &query); err != nil {
		return nil, &eventlog.Failure{Class: eventlog.Logic, Code: "call.params", Message: "ctx.getByIds takes a topic and an array of message ids"}
	}
	consumer, _ := h.state.Script(h.run.Version).Definition.Consumer(h.run.Handler)
	if topic := eventlog.Topic(query.Topic); h.phase != sandbox.Prepare || !slices.Contains(consumer.Subscribe, topic) {
		return nil, &eventlog.Failure{Class: eventlog.Logic, Code: "topic.notSubscribed", Message: fmt.Sprintf("ctx.getByIds: only prepare of a consumer that is subscribed to topic %q may look at it", query.Topic)}
	}
	ctx, cancel := context.WithTimeout(ctx, ownReadTimeout)
	defer cancel()
	answer, err := h.eventsOf(ctx, query)
	h.note(began, "ctx.getByIds", params, answer, err)
	return answer, err
}

// ownReadTimeout is that of a connector's read.
const ownReadTimeout = 30 * time.Second

func (h *host) eventsOf(ctx context.Context, query sandbox.IDsQuery) (json.RawMessage, error) {
	a, topic, most := h.workflow, eventlog.Topic(query.Topic), int(h.workflow.engine.cfg.Policies.Script.Argument)
	answer := []byte{'['}
	for ids := range slices.Chunk(query.IDs, readAtOnce) {
		if err := ctx.Err(); err != nil {
			return nil, &eventlog.Failure{Class: eventlog.Transient, Code: "storage.read", Message: "the local store takes too long: " + err.Error()}
		}
		events, err := a.events(topic, ids)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			text, err := json.Marshal(h.seen(e))
			if err != nil {
				return nil, fmt.Errorf("write event %s of %s as JSON: %w", e.MessageID, topic, err)
			}
			if len(answer) > 1 {
				answer = append(answer, ',')
			}
			if answer = append(answer, text...); len(answer) >= most {
				return nil, &eventlog.Failure{Class: eventlog.Logic, Code: "limit.argument", Message: fmt.Sprintf("the events that ctx.getByIds asks for have more than %d bytes; ask for fewer at once", most)}
			}
		}
	}
	return append(answer, ']'), nil
}

// seen is the event as the script sees it. What may be reserved is remembered: if it is skipped meanwhile, that
// is not the author's fault (R9).
func (h *host) seen(e *projections.TopicEvent) sandbox.Event {
	shown := sandbox.Event{MessageID: string(e.MessageID), Topic: string(e.Topic), Title: e.Title, Payload: e.Payload, Status: string(e.Status)}
	switch now := h.workflow.now(); {
	case e.Visible(now):
		h.mu.Lock()
		h.pending = append(h.pending, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
		h.mu.Unlock()
	case e.Status == eventlog.EventPending:
		shown.ScheduledAt = e.ScheduledAt.String()
	}
	return shown
}

// seenPending lists what getByIds has shown as pending beyond what went in with the call.
func (h *host) seenPending() []eventlog.EventRef {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pending)
}

// events reads events of a topic, never older than the newest state at the time of the call: what is not in
// memory is in the store as that state has it, or newer.
func (a *aggregate) events(topic eventlog.Topic, ids []string) ([]*projections.TopicEvent, error) {
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
	rows, err := a.engine.cfg.Store.Get(a.name, away)
	if err != nil {
		// F11
		return nil, &eventlog.Failure{Class: eventlog.Transient, Code: "storage.read", Message: "events cannot be read from the local store: " + clip(err.Error())}
	}
	for _, row := range rows {
		if e, ok := row.(*projections.TopicEvent); ok {
			events = append(events, e)
		}
	}
	return events, nil
}

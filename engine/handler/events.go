package handler

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
		return nil, failed(eventlog.Logic, "call.params",
			"ctx.getByIds takes a topic and an array of message ids")
	}
	consumer, _ := h.state.Script(h.run.Version).Definition.Consumer(h.run.Handler)
	if topic := eventlog.Topic(query.Topic); h.phase != sandbox.Prepare || !consumer.Subscribes(topic) {
		return nil, failed(eventlog.Logic, "topic.notSubscribed", fmt.Sprintf(
			"ctx.getByIds: only prepare of a consumer that is subscribed to topic %q may look at it", query.Topic))
	}
	if h.run.Event != nil {
		return json.RawMessage("[]"), nil // its one event went in with the call (C1)
	}
	ctx, cancel := context.WithTimeout(ctx, ownReadTimeout)
	defer cancel()
	answer, err := h.eventsOf(ctx, query)
	h.note(began, "ctx.getByIds", params, answer, err)
	return answer, err
}

// ownReadTimeout is how long a read of the local store may take: as long as a read of a connector.
const ownReadTimeout = 30 * time.Second

func (h *host) eventsOf(ctx context.Context, query sandbox.IDsQuery) (json.RawMessage, error) {
	topic, most := eventlog.Topic(query.Topic), int(h.caller.cfg.Policies.Script.Argument)
	answer := []byte{'['}
	for ids := range slices.Chunk(query.IDs, readAtOnce) {
		if err := ctx.Err(); err != nil {
			return nil, failed(eventlog.Transient, eventlog.CodeStorageRead, "the local store takes too long: "+err.Error())
		}
		events, err := h.caller.workflow.Events(topic, ids)
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
				return nil, failed(eventlog.Logic, "limit.argument", fmt.Sprintf(
					"the events that ctx.getByIds asks for have more than %d bytes; ask for fewer at once", most))
			}
		}
	}
	return append(answer, ']'), nil
}

// peekAfter answers ctx.peek with a cursor: the visible pending events behind one, oldest first.
func (h *host) peekAfter(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	began := time.Now()
	var query sandbox.AfterQuery
	if err := json.Unmarshal(params, &query); err != nil || query.Limit < 1 {
		return nil, failed(eventlog.Logic, "call.params", "ctx.peek takes a topic, a limit and the messageId to go on after")
	}
	topic := eventlog.Topic(query.Topic)
	consumer, _ := h.state.Script(h.run.Version).Definition.Consumer(h.run.Handler)
	if h.phase != sandbox.Prepare || !consumer.Subscribes(topic) {
		return nil, failed(eventlog.Logic, "topic.notSubscribed", fmt.Sprintf(
			"ctx.peek: only prepare of a consumer that is subscribed to topic %q may look at it", query.Topic))
	}
	if h.run.Event != nil {
		return json.RawMessage("[]"), nil // its one event went in with the call (C1)
	}
	ctx, cancel := context.WithTimeout(ctx, ownReadTimeout)
	defer cancel()
	most := PeekLimit{Events: min(query.Limit, fullPeek.Events), Bytes: fullPeek.Bytes}
	events, err := h.caller.workflow.After(ctx, topic, eventlog.MessageID(query.After), eventlog.At(h.origin), most)
	var answer json.RawMessage
	if err == nil {
		h.mu.Lock()
		for _, e := range events {
			h.pending = append(h.pending, eventlog.EventRef{Topic: topic, MessageID: eventlog.MessageID(e.MessageID)})
		}
		h.mu.Unlock()
		answer, err = json.Marshal(events)
	}
	h.note(began, "ctx.peek", params, answer, err)
	return answer, err
}

// maxLastError bounds the message of an earlier failure that a script is given: prepare is given a thousand events.
const maxLastError = 300

// Shown is the event as prepare sees it, with the number of its attempt (J1) and the error of the last failed one.
func Shown(e *projections.TopicEvent) sandbox.Event {
	shown := sandbox.Event{
		MessageID: string(e.MessageID), Topic: string(e.Topic), Title: e.Title, Payload: e.Payload,
		Attempt: e.Executions,
	}
	if e.Status == eventlog.EventStatusPending {
		shown.Attempt++
	}
	for _, a := range slices.Backward(e.Attempts) {
		if f := a.Failure; f != nil {
			shown.LastError = &sandbox.EventError{Class: string(f.Class), Code: f.Code,
				Message: eventlog.Clip(f.Message, maxLastError)}
			break
		}
	}
	return shown
}

// seen is the event as getByIds gives it. An event that may be reserved is remembered: if it is skipped
// meanwhile, that is not the author's fault (R9).
func (h *host) seen(e *projections.TopicEvent) sandbox.Event {
	shown := Shown(e)
	shown.Status = string(e.Status)
	switch now := h.caller.now(); {
	case e.Visible(now):
		h.mu.Lock()
		h.pending = append(h.pending, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID})
		h.mu.Unlock()
	case e.Status == eventlog.EventStatusPending:
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

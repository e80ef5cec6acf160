package eventlog

import "encoding/json"

// EventStatus is a topic event's place in its life.
type EventStatus string

// The statuses of a topic event.
const (
	EventStatusPending   EventStatus = "pending"
	EventStatusReserved  EventStatus = "reserved"
	EventStatusConsumed  EventStatus = "consumed"
	EventStatusSkipped   EventStatus = "skipped"
	EventStatusDiscarded EventStatus = "discarded"
)

type (
	// EventPublished: a new event stands at the end of its topic.
	EventPublished struct {
		Topic     Topic           `msgpack:"topic" json:"topic"`
		MessageID MessageID       `msgpack:"messageId" json:"messageId"`
		Title     string          `msgpack:"title" json:"title"`
		Payload   json.RawMessage `msgpack:"payload" json:"payload"`
		CreatedBy RunID           `msgpack:"createdBy,omitempty" json:"createdBy,omitempty"`
		CausedBy  []InputID       `msgpack:"causedBy,omitempty" json:"causedBy,omitempty"`
	}
	// EventTraced: the event belongs to a trace of its sender, whose context is Traceparent, as W3C Trace Context
	// writes it. It says nothing of what becomes of the event.
	EventTraced struct {
		Topic       Topic     `msgpack:"topic" json:"topic"`
		MessageID   MessageID `msgpack:"messageId" json:"messageId"`
		Traceparent string    `msgpack:"traceparent" json:"traceparent"`
	}
	// EventRepublished: a known message id was published again; status, position and reservation
	// stay (R11).
	EventRepublished struct {
		Topic     Topic           `msgpack:"topic" json:"topic"`
		MessageID MessageID       `msgpack:"messageId" json:"messageId"`
		Title     string          `msgpack:"title" json:"title"`
		Payload   json.RawMessage `msgpack:"payload" json:"payload"`
		CausedBy  []InputID       `msgpack:"causedBy,omitempty" json:"causedBy,omitempty"`
	}
	// EventReserved: the run intends to consume it; its job's attempt begins (J1).
	EventReserved struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
	}
	// EventTransferred: the reservation moved to a retry run; no new attempt (R15, J2).
	EventTransferred struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
	}
	// EventReleased: it is pending again at its old place.
	EventReleased struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
		// Uncounted is set when the run had not come to choose it: that was no execution of its job (C8).
		Uncounted bool `msgpack:"uncounted,omitempty" json:"uncounted,omitempty"`
	}
	// EventRetryScheduled: pending again, and invisible until At (J2).
	EventRetryScheduled struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
		At        Instant   `msgpack:"at" json:"at"`
		// Uncounted is set when the failure counts no attempt: the target was to blame (J2, F13).
		Uncounted bool `msgpack:"uncounted,omitempty" json:"uncounted,omitempty"`
		// Attention is set when it has failed so often that a person should look (F8, C5).
		Attention bool `msgpack:"attention,omitempty" json:"attention,omitempty"`
	}
	// EventConsumed: its run committed.
	EventConsumed struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
	}
	// EventSkipped: a person or the handler decided not to process it.
	EventSkipped struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run,omitempty" json:"run,omitempty"`
		Reason    string    `msgpack:"reason,omitempty" json:"reason,omitempty"`
	}
	// EventSkipRequested: its run is past the mutation and completes; then it ends skipped (O7).
	EventSkipRequested struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
	}
	// EventDiscarded: its attempts are exhausted; a person may redrive or skip it (J2, J3, O7).
	EventDiscarded struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
		Run       RunID     `msgpack:"run" json:"run"`
	}
	// EventRedriven: a skipped or discarded event is pending again, its attempts count from zero, its errors stay (J3). A
	// discarded event that is skipped has this and event.skipped in one transition (O7).
	EventRedriven struct {
		Topic     Topic     `msgpack:"topic" json:"topic"`
		MessageID MessageID `msgpack:"messageId" json:"messageId"`
	}
	// InputRegistered: the workflow took in something from outside.
	InputRegistered struct {
		Input      InputID `msgpack:"input" json:"input"`
		Source     string  `msgpack:"source" json:"source"`
		Type       string  `msgpack:"type" json:"type"`
		ExternalID string  `msgpack:"externalId" json:"externalId"`
		Title      string  `msgpack:"title" json:"title"`
	}
	// InputRetitled: the same input has come in again under another title.
	InputRetitled struct {
		Input InputID `msgpack:"input" json:"input"`
		Title string  `msgpack:"title" json:"title"`
	}
)

// needs: version 2 added Uncounted, version 3 Attention.
func (f *EventRetryScheduled) needs() int {
	switch {
	case f.Attention:
		return 3
	case f.Uncounted:
		return 2
	}
	return 1
}

// needs: version 2 added Uncounted.
func (f *EventReleased) needs() int {
	if f.Uncounted {
		return 2
	}
	return 1
}

func (*EventPublished) FactType() FactType      { return "event.published" }
func (*EventTraced) FactType() FactType         { return "event.traced" }
func (*EventRepublished) FactType() FactType    { return "event.republished" }
func (*EventReserved) FactType() FactType       { return "event.reserved" }
func (*EventTransferred) FactType() FactType    { return "event.transferred" }
func (*EventReleased) FactType() FactType       { return "event.released" }
func (*EventRetryScheduled) FactType() FactType { return "event.retry_scheduled" }
func (*EventConsumed) FactType() FactType       { return "event.consumed" }
func (*EventSkipped) FactType() FactType        { return "event.skipped" }
func (*EventSkipRequested) FactType() FactType  { return "event.skip_requested" }
func (*EventDiscarded) FactType() FactType      { return "event.discarded" }
func (*EventRedriven) FactType() FactType       { return "event.redriven" }
func (*InputRegistered) FactType() FactType     { return "input.registered" }
func (*InputRetitled) FactType() FactType       { return "input.retitled" }

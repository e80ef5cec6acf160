package eventlog

import "encoding/json"

// SessionResult is how a session ended (S7).
type SessionResult string

// The results of a session.
const (
	SessionCompleted SessionResult = "completed"
	SessionFailed    SessionResult = "failed"
)

type (
	// HandlerStateSaved: the handler's own state, as JSON, after a committed run (R13).
	HandlerStateSaved struct {
		Handler Handler         `msgpack:"handler" json:"handler"`
		State   json.RawMessage `msgpack:"state" json:"state"`
	}
	// HandlerScheduled: the producer is next due at NextRunAt (S2).
	HandlerScheduled struct {
		Handler   Handler `msgpack:"handler" json:"handler"`
		NextRunAt Instant `msgpack:"nextRunAt" json:"nextRunAt"`
	}
	// HandlerWakeRequested: a committed run asked that the consumer runs at WakeAt even without new events;
	// zero: it asked for nothing, and what an earlier run asked for no longer counts (S4).
	HandlerWakeRequested struct {
		Handler Handler `msgpack:"handler" json:"handler"`
		WakeAt  Instant `msgpack:"wakeAt,omitempty" json:"wakeAt"`
	}
	// HandlerDirtied: the consumer has something to look at (S3).
	HandlerDirtied struct {
		Handler Handler `msgpack:"handler" json:"handler"`
	}
	// HandlerCleaned: the consumer has looked at everything there was (S3).
	HandlerCleaned struct {
		Handler Handler `msgpack:"handler" json:"handler"`
	}
	// HandlerFailuresCounted: so many runs of the consumer in a row have failed transiently, on different
	// events; zero after a commit. From the third on it is tried one run at a time (J2, F8).
	HandlerFailuresCounted struct {
		Handler Handler `msgpack:"handler" json:"handler"`
		Runs    int     `msgpack:"runs" json:"runs"`
	}
	// SessionStarted: a burst of runs begins. ProducersFirst is set when the one before hit its
	// bound: producers due by now run before any consumer (S7).
	SessionStarted struct {
		Session        SessionID `msgpack:"session" json:"session"`
		ProducersFirst bool      `msgpack:"producersFirst,omitempty" json:"producersFirst,omitempty"`
	}
	// SessionEnded: the burst is over; Result is "completed" or "failed" (S7).
	SessionEnded struct {
		Session SessionID     `msgpack:"session" json:"session"`
		Result  SessionResult `msgpack:"result" json:"result"`
	}
)

func (*HandlerStateSaved) FactType() FactType      { return "handler.state_saved" }
func (*HandlerScheduled) FactType() FactType       { return "handler.scheduled" }
func (*HandlerWakeRequested) FactType() FactType   { return "handler.wake_requested" }
func (*HandlerDirtied) FactType() FactType         { return "handler.dirtied" }
func (*HandlerCleaned) FactType() FactType         { return "handler.cleaned" }
func (*HandlerFailuresCounted) FactType() FactType { return "handler.failures_counted" }
func (*SessionStarted) FactType() FactType         { return "session.started" }
func (*SessionEnded) FactType() FactType           { return "session.ended" }

package eventlog

import "encoding/json"

// ResolvedByAcceptedLoss is what resolved a mutation that a person has given up with a part of the log.
const ResolvedByAcceptedLoss = "accepted_loss"

type (
	// EventGivenUp: the records that say what became of the event were given up with an accepted loss. It
	// is not processed again, unless a person says so. The event may be new to the workflow: then its
	// publication was among what was given up.
	EventGivenUp struct {
		Topic     Topic           `msgpack:"topic" json:"topic"`
		MessageID MessageID       `msgpack:"messageId" json:"messageId"`
		Title     string          `msgpack:"title" json:"title"`
		Payload   json.RawMessage `msgpack:"payload" json:"payload"`
		// Status is consumed or skipped: what is known of its end, skipped if nothing is.
		Status EventStatus `msgpack:"status" json:"status"`
		// Unknown says that a call may have been made for it: a redrive may repeat that (O11).
		Unknown bool   `msgpack:"unknown,omitempty" json:"unknown"`
		Reason  string `msgpack:"reason" json:"reason"`
	}
	// MutationGivenUp: what is recorded of the mutation was given up with an accepted loss. It may have
	// been applied; Status is the last that can be read of it.
	MutationGivenUp struct {
		Mutation  MutationID      `msgpack:"mutation" json:"mutation"`
		Run       RunID           `msgpack:"run" json:"run"`
		Call      MutationCall    `msgpack:"call" json:"call"`
		Key       string          `msgpack:"key,omitempty" json:"key,omitempty"`
		Status    MutationStatus  `msgpack:"status" json:"status"`
		Result    json.RawMessage `msgpack:"result,omitempty" json:"result,omitempty"`
		StartedAt Instant         `msgpack:"startedAt,omitempty" json:"startedAt,omitempty"`
	}
)

func (*EventGivenUp) FactType() FactType    { return "event.given_up" }
func (f *MutationGivenUp) needs() int       { return needsOf(&f.Call) }
func (*MutationGivenUp) FactType() FactType { return "mutation.given_up" }

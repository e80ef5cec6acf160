package sandbox

import (
	"context"
	"encoding/json"
)

// Host answers what must cross from a script to the engine: connector reads, and what ctx.getByIds asks for
// beyond the pending events that went in with the call.
type Host interface {
	// Read performs a list or get operation. OwnConnector has two: the params of GetByIDs are an IDsQuery and its result
	// is a JSON array of those of the Events that exist; the params of PeekAfter are an AfterQuery. An error is returned
	// unchanged inside *Error (Cause), so that the engine can classify it. Read is called from several goroutines at once
	// (at most Limits.InFlight per invocation), and must return soon after ctx ends: an invocation that has failed does
	// not wait for its reads.
	Read(ctx context.Context, connector, operation string, params json.RawMessage) (json.RawMessage, error)
}

// OwnConnector is the connector of what the engine itself answers; no other has this name. Its operations, both for
// prepare alone, are GetByIDs (R8, R19) and PeekAfter.
const (
	OwnConnector = "pawl"
	GetByIDs     = "getByIds"
	PeekAfter    = "peek"
)

// AfterQuery are the parameters of PeekAfter: at most Limit pending events behind the one with the id.
type AfterQuery struct {
	Topic string `json:"topic"`
	After string `json:"after"`
	Limit int    `json:"limit"`
}

// IDsQuery are the parameters of GetByIDs.
type IDsQuery struct {
	Topic string   `json:"topic"`
	IDs   []string `json:"ids"`
}

package recording

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Recording is what prepare, or the producer, of one run was given.
type Recording struct {
	Run     eventlog.RunID     `json:"run"`
	Version eventlog.Version   `json:"version"`
	Handler eventlog.Handler   `json:"handler"`
	Event   *eventlog.EventRef `json:"event,omitempty"` // of a concurrent consumer's run
	At      time.Time          `json:"at"`              // the script's time
	Seed    uint64             `json:"seed"`
	// Phase is producer; empty for prepare.
	Phase sandbox.Phase `json:"phase,omitempty"`
	// ScheduledAt is the time that the producer's schedule asked for; zero where it is At.
	ScheduledAt time.Time `json:"scheduledAt,omitzero"`

	State   json.RawMessage            `json:"state,omitempty"`
	Pending map[string][]sandbox.Event `json:"pending,omitempty"`
	More    []string                   `json:"more,omitempty"`
	Reads   []Read                     `json:"reads,omitempty"`
}

// Read is one read of a connector, or of ctx.getByIds, and what it was answered.
type Read struct {
	Connector string            `json:"connector"`
	Operation string            `json:"operation"`
	Params    json.RawMessage   `json:"params"`
	Answer    json.RawMessage   `json:"answer,omitempty"`
	Failure   *eventlog.Failure `json:"failure,omitempty"`
}

// Empty reports whether there was nothing that prepare could have looked at.
func (r *Recording) Empty() bool {
	for _, events := range r.Pending {
		if len(events) > 0 {
			return false
		}
	}
	return len(r.Reads) == 0 && r.Phase != sandbox.Producer
}

// Keep bounds what is kept of a workflow. A zero bound is none.
type Keep struct {
	Runs  int
	Bytes int64
	For   time.Duration
}

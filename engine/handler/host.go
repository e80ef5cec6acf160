package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// host answers one run's reads. It trusts nothing that comes from the script: the
// operation must be pinned, be a read, and be granted.
type host struct {
	caller *Caller
	state  *projections.State
	run    *projections.Run
	// origin and start say what the script's clock is at any moment: the engine's may stand still.
	origin, start time.Time
	phase         sandbox.Phase

	mu      sync.Mutex
	log     []sandbox.LogLine
	pending []eventlog.EventRef // see seenPending
	reads   []recording.Read    // of a call that is recorded
}

// maxLoggedCall bounds what is kept of one read's parameters and of its answer.
const maxLoggedCall = 2 << 10

func (h *host) note(began time.Time, capability string, params, answer json.RawMessage, err error) {
	text := fmt.Sprintf("%s(%s) after %s: ", capability, eventlog.Clip(params, maxLoggedCall),
		time.Since(began).Round(time.Microsecond))
	if err != nil {
		text += "failed: " + eventlog.ClipText(err.Error())
	} else {
		text += eventlog.Clip(answer, maxLoggedCall)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, sandbox.LogLine{At: h.at(began), Level: LevelCall, Text: text})
}

// recorded reports whether what the call is given is kept.
func (h *host) recorded() bool {
	return (h.phase == sandbox.Prepare || h.phase == sandbox.Producer) && h.caller.cfg.Recordings.Records(h.caller.name)
}

// keep keeps a read of a call that is recorded.
func (h *host) keep(connector, operation string, params, answer json.RawMessage, err error) {
	read := recording.Read{Connector: connector, Operation: operation, Params: params, Answer: answer}
	if err != nil {
		read.Answer = nil
		if !errors.As(err, &read.Failure) {
			read.Failure = failed(eventlog.Internal, "internal", err.Error())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, read)
}

// record keeps what the call was given.
func (h *host) record(call sandbox.Invocation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := recording.Recording{
		Run: h.run.ID, Version: h.run.Version, Handler: h.run.Handler, Event: h.run.Event, At: call.Now, Seed: call.Seed,
		State: call.State, Pending: call.Pending, More: call.More, Reads: h.reads,
	}
	if h.phase == sandbox.Producer {
		kept.Phase, kept.ScheduledAt = h.phase, call.ScheduledAt
	}
	if !kept.Empty() {
		h.caller.cfg.Recordings.Add(h.caller.name, kept)
	}
}

// at is what the script's clock showed at a moment.
func (h *host) at(moment time.Time) time.Time { return h.origin.Add(moment.Sub(h.start)) }

func (h *host) calls() []sandbox.LogLine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log
}

// The levels of run log lines that the engine writes itself, besides those of the script.
const (
	LevelCall   = "call"   // a connector read: what was asked and answered
	LevelInputs = "inputs" // what a handler that failed was given, as JSON
)

package handler

import (
	"encoding/json"
	"errors"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// recorded reports whether what the call is given is kept.
func (h *host) recorded() bool {
	return h.phase == sandbox.Prepare && h.caller.cfg.Recordings.Records(h.caller.name)
}

// keep keeps a read of a call that is recorded.
func (h *host) keep(connector, operation string, params, answer json.RawMessage, err error) {
	read := recording.Read{Connector: connector, Operation: operation, Params: params, Answer: answer}
	if err != nil {
		read.Answer = nil
		if !errors.As(err, &read.Failure) {
			read.Failure = failed(eventlog.Internal, "internal", clip(err.Error()))
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
	if !kept.Empty() {
		h.caller.cfg.Recordings.Add(h.caller.name, kept)
	}
}

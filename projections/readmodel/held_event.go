package readmodel

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// HeldEvent is what keeps an event of a concurrent consumer from going on (C5).
type HeldEvent struct {
	Reason eventlog.HeldReason `json:"reason"`
	Since  eventlog.Instant    `json:"since"`
	// Error is why: that of its last attempt, or of the call whose outcome is open. Null for an approval.
	Error *Failure `json:"error"`
	// Run is the one after which it is held, Mutation that run's.
	Run      eventlog.RunID       `json:"run"`
	Mutation *eventlog.MutationID `json:"mutation"`
	// Ends are the commands that end it, the most likely one first: none for what ends by itself, and none in a state
	// of the past.
	Ends []string `json:"ends"`
}

// For is what the event is held for, empty for one that is not held.
func (h *HeldEvent) For() eventlog.HeldReason {
	if h == nil {
		return ""
	}
	return h.Reason
}

// HeldView renders what holds the event, nil for nothing.
func HeldView(e *projections.TopicEvent, run *projections.Run, m *projections.Mutation) *HeldEvent {
	if e.Held == nil {
		return nil
	}
	v := &HeldEvent{Reason: e.Held.Reason, Since: e.Held.Since, Error: failureView(HeldFailure(e, run, m)),
		Run: e.Held.Run, Ends: []string{}}
	if m != nil {
		v.Mutation = &m.ID
	}
	return v
}

// HeldFailure is why the event is held, nil where nothing has failed.
func HeldFailure(e *projections.TopicEvent, run *projections.Run, m *projections.Mutation) *eventlog.Failure {
	switch {
	case e.Status == eventlog.EventStatusPending && len(e.Attempts) > 0:
		return e.Attempts[len(e.Attempts)-1].Failure
	case m != nil && m.Status.Unresolved():
		return m.Failure
	case run != nil && e.Status == eventlog.EventStatusReserved:
		return run.Failure
	}
	return nil
}

// held renders what holds the event, with the commands that end it.
func (v *view) held(w eventlog.WorkflowName, e *projections.TopicEvent) (*HeldEvent, error) {
	if e.Held == nil {
		return nil, nil
	}
	run, err := optionally[projections.Run](v, w, projections.RunKey(e.Held.Run))
	if err != nil {
		return nil, err
	}
	var m *projections.Mutation
	if run != nil && run.Mutation != "" {
		if m, err = optionally[projections.Mutation](v, w, projections.MutationKey(run.Mutation)); err != nil {
			return nil, err
		}
	}
	shown := HeldView(e, run, m)
	if v.ends != nil {
		core, err := v.workflow(w)
		if err != nil {
			return nil, err
		}
		shown.Ends = listed(v.ends(core, e, run, m))
	}
	return shown, nil
}

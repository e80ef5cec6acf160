package projections

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// phases are those a handler's runs can be in (R1).
var phases = map[eventlog.HandlerType][]eventlog.Phase{
	eventlog.ProducerHandler: {eventlog.PhasePending, eventlog.PhaseExecuting, eventlog.PhaseCommitted},
	eventlog.ConsumerHandler: {
		eventlog.PhasePreparing, eventlog.PhasePrepared, eventlog.PhaseMutating, eventlog.PhaseMutated,
		eventlog.PhaseEmitting, eventlog.PhaseCommitted,
	},
}

func (f *folding) runStarted(e *eventlog.RunStarted) error {
	if e.Event != nil {
		return f.concurrentStarted(e)
	}
	if f.Current != "" {
		return fmt.Errorf("run %s started while run %s is not over", e.Run, f.Current)
	}
	if !slices.Contains(phases[e.HandlerType], e.Phase) {
		return fmt.Errorf("run %s of %s %s cannot start in phase %q", e.Run, e.HandlerType, e.Handler, e.Phase)
	}
	r := Run{
		ID: e.Run, Handler: e.Handler, Type: e.HandlerType, Version: e.Version, Session: e.Session, Phase: e.Phase,
		Status: eventlog.RunStatusActive, RetryOf: e.RetryOf, StartedAt: f.at(), StartRevision: f.Head.Revision,
		Engine: e.Engine, Created: f.ordinal(),
	}
	if e.RetryOf != "" {
		first := f.Run(e.RetryOf)
		if first == nil {
			return fmt.Errorf("run %s retries run %s, which is not known", e.Run, e.RetryOf)
		}
		r.follows(first)
	}
	if h := f.Handler(e.Handler); h != nil && e.HandlerType == eventlog.ProducerHandler {
		r.ScheduledAt = cmp.Or(h.AskedAt, h.NextRunAt)
	}
	f.Current = r.ID
	f.putRun(&r)
	if x, ok := f.sessions.get(e.Session); ok && f.Session == e.Session {
		session := *x
		session.Runs++
		f.putSession(&session)
	} else {
		return fmt.Errorf("run %s belongs to session %s, which is not open", e.Run, e.Session)
	}
	if e.RetryOf != "" {
		return nil // it does not peek (R15)
	}
	return f.changeHandler(e.Handler, func(h *Handler) { h.LookedAt, h.AskedAt = f.at(), r.ScheduledAt })
}

// follows takes over what the whole chain of a retry sees alike: the prepare result and the mutation (R15).
func (r *Run) follows(first *Run) {
	r.PrepareResult, r.UITitle, r.WakeAt, r.Cancel = first.PrepareResult, first.UITitle, first.WakeAt, first.Cancel
	r.Mutation, r.Outcome, r.Reserved = first.Mutation, first.Outcome, first.Reserved
	r.Empty = first.Empty
	if r.Depth = first.Depth; first.Failure != nil && first.Failure.Code == CodeChain {
		r.Depth = 0 // a person has let it go on: nothing else tries it again
	}
}

// CodeChain is the code of the failure that ends a long chain of publications (R20).
const CodeChain = "publish.chain"

// changeCurrent refuses a run that has ended: it never becomes active again (R15).
func (f *folding) changeCurrent(id eventlog.RunID, change func(*Run)) error {
	if f.over(id) {
		return fmt.Errorf("run %s is not current, run %q is", id, f.Current)
	}
	return f.changeRun(id, change)
}

func (f *folding) runPrepared(e *eventlog.RunPrepared) error {
	if err := f.runAdvanced(e.Run, eventlog.PhasePrepared); err != nil {
		return err
	}
	return f.changeRun(e.Run, func(r *Run) {
		r.PrepareResult, r.UITitle, r.WakeAt, r.Cancel = e.Result, e.UITitle, e.WakeAt, e.Cancel
		r.Empty = e.Empty
		for _, c := range e.Cancel {
			if event := f.Event(c.Topic, c.MessageID); event != nil {
				r.Depth = max(r.Depth, event.Depth)
			}
		}
	})
}

// runAdvanced keeps R1: a phase only moves forward.
func (f *folding) runAdvanced(id eventlog.RunID, phase eventlog.Phase) error {
	r := f.Run(id)
	if r == nil {
		return fmt.Errorf("run %s is not known", id)
	}
	if !phase.After(r.Phase) || !slices.Contains(phases[r.Type], phase) {
		return fmt.Errorf("run %s cannot go from %s to %s", id, r.Phase, phase)
	}
	return f.changeRun(id, func(r *Run) { r.Phase = phase })
}

// runCommitted keeps R2: committed status and committed phase come together.
func (f *folding) runCommitted(e *eventlog.RunCommitted) error {
	if f.over(e.Run) {
		return fmt.Errorf("run %s committed while run %q is current", e.Run, f.Current)
	}
	if err := f.runAdvanced(e.Run, eventlog.PhaseCommitted); err != nil {
		return err
	}
	f.leave(e.Run)
	if run := f.Run(e.Run); run.ScheduledAt != 0 {
		if err := f.changeHandler(run.Handler, func(h *Handler) { h.AskedAt = 0 }); err != nil {
			return err
		}
	}
	return f.changeRun(e.Run, func(r *Run) { r.Status, r.EndedAt = eventlog.RunStatusCommitted, f.at() })
}

// runEnded never touches the phase (R1). An ended run never becomes active again (R15).
func (f *folding) runEnded(id eventlog.RunID, status eventlog.RunStatus, failure *eventlog.Failure) error {
	if f.over(id) {
		return fmt.Errorf("run %s ended while run %q is current", id, f.Current)
	}
	f.leave(id)
	return f.changeRun(id, func(r *Run) { r.Status, r.EndedAt, r.Failure = status, f.at(), failure })
}

// concurrentStarted begins a run beside others: it belongs to one event and to no session (C1, C3). Its reservation
// follows in the same transition.
func (f *folding) concurrentStarted(e *eventlog.RunStarted) error {
	switch {
	case f.runs.has(e.Run):
		return fmt.Errorf("run %s has started already", e.Run)
	case e.HandlerType != eventlog.ConsumerHandler || e.Session != "":
		return fmt.Errorf("run %s of %s %s in session %q cannot be that of one event", e.Run, e.HandlerType, e.Handler,
			e.Session)
	case !slices.Contains(phases[e.HandlerType], e.Phase):
		return fmt.Errorf("run %s of %s %s cannot start in phase %q", e.Run, e.HandlerType, e.Handler, e.Phase)
	}
	event := *e.Event
	r := Run{
		ID: e.Run, Handler: e.Handler, Type: e.HandlerType, Version: e.Version, Phase: e.Phase,
		Status: eventlog.RunStatusActive, RetryOf: e.RetryOf, StartedAt: f.at(), StartRevision: f.Head.Revision,
		Engine: e.Engine, Created: f.ordinal(), Event: &event, Key: e.Key,
	}
	if e.RetryOf != "" {
		first := f.Run(e.RetryOf)
		if first == nil || !first.Owes || *first.Event != event {
			return fmt.Errorf("run %s retries run %s, which owes no retry for event %s in %s", e.Run, e.RetryOf,
				event.MessageID, event.Topic)
		}
		r.follows(first)
		r.Tries, r.Attention = first.Tries, first.Attention
	}
	f.putRun(&r)
	f.countOwing(0, r.attends())
	return f.changeHandler(e.Handler, func(h *Handler) {
		h.StartedAt = f.at()
		if h.Probing != nil {
			p := *h.Probing
			if p.Probed = e.RetryOf == ""; p.Probed {
				p.Newest = !p.Newest
			}
			h.Probing = &p
		}
	})
}

// over reports whether the run has ended, or never was: it changes no more (R15).
func (f *folding) over(id eventlog.RunID) bool {
	if id == f.Current {
		return id == ""
	}
	run := f.Run(id)
	return run == nil || run.Event == nil || run.EndedAt != 0
}

// leave lets the run be current no more; one of a concurrent consumer never was.
func (f *folding) leave(id eventlog.RunID) {
	if id == f.Current {
		f.Current = ""
	}
}

// Began is the revision from which on the run, with the call that it makes, can say something of its target (C7):
// that of its start, or at which it went on after a person had approved its call (C3).
func (r *Run) Began() uint64 { return max(r.StartRevision, r.BackRevision) }

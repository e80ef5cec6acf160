package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// expectWaiting looks at what the workflow waits for, and at why: at the failures of the events that are held for this,
// or else at the newest one.
func (r *running) expectWaiting(ctx context.Context, step *Step) ([]Problem, error) {
	reason := decide.Reason(step.Reason)
	if !slices.Contains(decide.Reasons(), reason) {
		return problemf("there is no reason %q; there are %s", step.Reason, knownReasons()), nil
	}
	r.awaited = append(r.awaited, step)
	if all, _ := r.reasons(); !slices.Contains(all, reason) {
		return problemf("the workflow does not wait for %s: %s", step.Reason, r.waiting(ctx)), nil
	}
	if step.Code == "" && step.Message == "" && step.At == 0 {
		return nil, nil
	}
	held, err := r.heldEvents(ctx)
	if err != nil {
		return nil, err
	}
	var failures []*eventlog.Failure
	for _, e := range held {
		if ofHeld[e.Held.Reason] == reason && e.failure != nil {
			failures = append(failures, e.failure)
		}
	}
	if last := r.lastFailure(); len(failures) == 0 && last != nil {
		failures = []*eventlog.Failure{last}
	}
	if slices.ContainsFunc(failures, step.tellsOf) {
		return nil, nil
	}
	if len(failures) == 0 {
		return problemf("nothing has failed"), nil
	}
	return problemf("the failure is another one: %s", inWords(failures[len(failures)-1])), nil
}

// tellsOf reports whether the failure is one that the step describes.
func (s *Step) tellsOf(f *eventlog.Failure) bool {
	return (s.Code == "" || f.Code == s.Code) && strings.Contains(f.Message, s.Message) && (s.At == 0 || f.Line == s.At)
}

func knownReasons() string {
	var names []string
	for _, reason := range decide.Reasons() {
		names = append(names, string(reason))
	}
	return strings.Join(names, ", ")
}

// unexpectedWaits are what a person is needed for, and the case does not expect.
func (r *running) unexpectedWaits(ctx context.Context) []Problem {
	_, people := r.reasons()
	for _, reason := range people {
		if !slices.ContainsFunc(r.awaited, func(s *Step) bool { return s.Reason == string(reason) }) {
			return problemf("the case ends with work that is left, and does not expect it with expectWaiting(%q): %s", reason,
				r.waiting(ctx))
		}
	}
	return nil
}

// ofHeld is what an event of a concurrent consumer waits for, in the words of a serial one.
var ofHeld = map[eventlog.HeldReason]decide.Reason{
	eventlog.HeldRepair: decide.ReasonMaintenance, eventlog.HeldPerson: decide.ReasonBlocked,
	eventlog.HeldReconcile: decide.ReasonReconcile, eventlog.HeldIndeterminate: decide.ReasonIndeterminate,
	eventlog.HeldApproval: decide.ReasonApproval,
}

// reasons are what the workflow and each of its held events wait for; people are those that end by a person only.
func (r *running) reasons() (all, people []decide.Reason) {
	add := func(to *[]decide.Reason, reason decide.Reason) {
		if !slices.Contains(*to, reason) {
			*to = append(*to, reason)
		}
	}
	state, _ := r.engine.State(r.workflow)
	for _, wait := range r.engine.Waits(r.workflow) {
		add(&all, wait.Reason)
		if wait.Reason != decide.ReasonHeld && // that is said of its events, below
			(wait.Reason.Meaning() == decide.NeedsPerson || decide.NeedsAttention(&state, wait)) {
			add(&people, wait.Reason)
		}
	}
	for _, held := range state.Counts.Held {
		if held.Events == 0 {
			continue
		}
		add(&all, ofHeld[held.Reason])
		if held.Reason != eventlog.HeldReconcile {
			add(&people, ofHeld[held.Reason])
		}
	}
	return all, people
}

// trouble is the end of a message: what the workflow waits for where a person is needed, and else nothing.
func (r *running) trouble(ctx context.Context) string {
	if _, people := r.reasons(); len(people) == 0 {
		return ""
	}
	return "; " + r.waiting(ctx)
}

// maxNamed bounds how many events of a kind a problem names.
const maxNamed = 3

// waiting says in words what the workflow waits for: each held event with its failure, or else the last failure.
func (r *running) waiting(ctx context.Context) string {
	var reasons []string
	all, _ := r.reasons()
	for _, reason := range all {
		reasons = append(reasons, string(reason))
	}
	text := "the workflow waits: " + strings.Join(reasons, ", ")
	held, err := r.heldEvents(ctx)
	if err != nil || len(held) == 0 {
		if failure := r.lastFailure(); failure != nil {
			text += "; the last failure is " + inWords(failure)
		}
		return text
	}
	for _, e := range held[:min(len(held), maxNamed)] {
		text += fmt.Sprintf("; %s of %s is held for %s", e.MessageID, e.Topic, e.Held.Reason)
		if e.failure != nil {
			text += ": " + inWords(e.failure)
		}
	}
	if more := len(held) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more events are held", more)
	}
	return text
}

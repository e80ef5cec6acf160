package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// expectations are the steps that say what is to be true.
var expectations = map[Do]func(*running, context.Context, *Step) ([]Problem, error){
	DoExpectCall:    (*running).expectCall,
	DoExpectNoCalls: func(r *running, _ context.Context, _ *Step) ([]Problem, error) { return r.unexpected(), nil },
	DoExpectEvents:  (*running).expectEvents,
	DoExpectState:   (*running).expectState,
	DoExpectWaiting: (*running).expectWaiting,
	DoExpectLog: func(r *running, _ context.Context, step *Step) ([]Problem, error) {
		if r.hasLogged(step.Part) {
			return nil, nil
		}
		return problemf("no handler has logged %q", step.Part), nil
	},
}

func problemf(format string, args ...any) []Problem {
	return []Problem{{Message: fmt.Sprintf(format, args...)}}
}

// expectCall takes the first change that was not expected yet.
func (r *running) expectCall(_ context.Context, step *Step) ([]Problem, error) {
	made := r.outside.made()
	if r.expected >= len(made) {
		return problemf("%s was not called; %s", step.Operation, r.waiting()), nil
	}
	next := made[r.expected]
	r.expected++
	if next.operation != step.Operation {
		return problemf("%s was called and not %s: %s", next.operation, step.Operation, eventlog.Clip(next.params, 300)), nil
	}
	if len(step.Params) == 0 {
		return nil, nil
	}
	found, err := difference.Of(step.Params, next.params)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return []Problem{{Message: step.Operation + " was called with other parameters", Differences: found}}, nil
}

// unexpected are the changes that no step has expected. They are listed once.
func (r *running) unexpected() (problems []Problem) {
	made := r.outside.made()
	for _, c := range made[r.expected:] {
		problems = append(problems, problemf("%s was called, which the case does not expect: %s", c.operation,
			eventlog.Clip(c.params, 300))...)
	}
	r.expected = len(made)
	return problems
}

// shown is an event as a case sees it.
type shown struct {
	MessageID eventlog.MessageID   `json:"messageId"`
	Title     string               `json:"title"`
	Payload   json.RawMessage      `json:"payload"`
	Status    eventlog.EventStatus `json:"status"`
}

// expectEvents compares all events of a topic, in the order in which they were published.
func (r *running) expectEvents(ctx context.Context, step *Step) ([]Problem, error) {
	state, err := r.fold(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(state.Definition().Topics, step.Topic) {
		return problemf("the workflow has no topic %q", step.Topic), nil
	}
	events := []shown{}
	for _, e := range eventsOf(&state, step.Topic) {
		events = append(events, shown{e.MessageID, e.Title, e.Payload, e.Status})
	}
	want, got := step.Events, events
	if want == nil {
		want = []json.RawMessage{}
	}
	expected, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("compare the events of %s: %w", step.Topic, err)
	}
	found, err := json.Marshal(got)
	if err != nil {
		return nil, fmt.Errorf("compare the events of %s: %w", step.Topic, err)
	}
	differences, err := difference.Beyond(expected, found)
	if err != nil || len(differences) == 0 {
		return nil, err
	}
	return []Problem{{Message: fmt.Sprintf("%s has other events", step.Topic), Differences: differences}}, nil
}

// eventsOf lists the events of a topic in the order in which they were published.
func eventsOf(state *projections.State, topic eventlog.Topic) []*projections.TopicEvent {
	var events []*projections.TopicEvent
	for _, e := range state.Events() {
		if e.Topic == topic {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b *projections.TopicEvent) int {
		return cmp.Or(cmp.Compare(a.Created.Seq, b.Created.Seq), cmp.Compare(a.Created.N, b.Created.N))
	})
	return events
}

func (r *running) expectState(ctx context.Context, step *Step) ([]Problem, error) {
	state, err := r.fold(ctx)
	if err != nil {
		return nil, err
	}
	_, consumer := state.Definition().Consumer(step.Handler)
	if _, producer := state.Definition().Producer(step.Handler); !consumer && !producer {
		return problemf("the script has no producer or consumer %q", step.Handler), nil
	}
	var kept json.RawMessage
	if h := state.Handler(step.Handler); h != nil {
		kept = h.State
	}
	switch {
	case kept == nil && step.State == nil:
		return nil, nil
	case kept == nil:
		return problemf("%s remembers nothing yet", step.Handler), nil
	case step.State == nil:
		return problemf("%s remembers %s, and nothing was expected", step.Handler, eventlog.Clip(kept, 300)), nil
	}
	differences, err := difference.Of(step.State, kept)
	if err != nil || len(differences) == 0 {
		return nil, err
	}
	return []Problem{{Message: string(step.Handler) + " remembers something else", Differences: differences}}, nil
}

// expectWaiting looks at what the workflow waits for, and at the newest failure.
func (r *running) expectWaiting(_ context.Context, step *Step) ([]Problem, error) {
	if !slices.Contains(decide.Reasons(), decide.Reason(step.Reason)) {
		return problemf("there is no reason %q; there are %s", step.Reason, knownReasons()), nil
	}
	r.awaited = append(r.awaited, decide.Reason(step.Reason))
	if all, _ := r.reasons(); !slices.Contains(all, decide.Reason(step.Reason)) {
		return problemf("the workflow does not wait for %s: %s", step.Reason, r.waiting()), nil
	}
	failure := r.lastFailure()
	if step.Code == "" && step.Message == "" && step.At == 0 {
		return nil, nil
	}
	switch {
	case failure == nil:
		return problemf("nothing has failed"), nil
	case step.Code != "" && failure.Code != step.Code, !strings.Contains(failure.Message, step.Message),
		step.At != 0 && failure.Line != step.At:
		return problemf("the last failure is another one: %s", said(failure)), nil
	}
	return nil, nil
}

func knownReasons() string {
	var names []string
	for _, reason := range decide.Reasons() {
		names = append(names, string(reason))
	}
	return strings.Join(names, ", ")
}

// end is what the end of a case expects: what was pushed has had its turn, each change was expected, each crash and
// failure that it asks for has come, and no person is needed unless the case says so.
func (r *running) end(ctx context.Context) ([]Problem, error) {
	if r.held && !r.stopped && len(r.c.Steps) > 0 {
		if err := r.run(ctx); err != nil {
			return nil, err
		}
	}
	problems := slices.Concat(r.lacking(0), r.unexpected(), r.undead(), r.outside.unused())
	_, people := r.reasons()
	if slices.ContainsFunc(people, func(reason decide.Reason) bool { return !slices.Contains(r.awaited, reason) }) {
		problems = append(problems, problemf("the case ends with work that is left, and does not expect it: %s",
			r.waiting())...)
	}
	return problems, nil
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

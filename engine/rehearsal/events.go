package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// shownEvent is an event as a case sees it.
type shownEvent struct {
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
	events := []shownEvent{}
	for _, e := range eventsOf(state, step.Topic) {
		events = append(events, shownEvent{e.MessageID, e.Title, e.Payload, e.Status})
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
	if err == nil && len(differences) == 0 {
		r.see(step, got)
	}
	if err != nil || len(differences) == 0 {
		return nil, err
	}
	message := fmt.Sprintf("%s has other events%s", step.Topic, r.trouble(ctx))
	return []Problem{{Message: message, Differences: differences}}, nil
}

// see notes which events the case has listed, and whose status it has named.
func (r *running) see(step *Step, events []shownEvent) {
	for i, e := range events {
		var expected struct {
			Status eventlog.EventStatus `json:"status"`
		}
		judged := json.Unmarshal(step.Events[i], &expected) == nil && expected.Status != ""
		ref := eventlog.EventRef{Topic: step.Topic, MessageID: e.MessageID}
		r.seen[ref] = r.seen[ref] || judged
	}
}

// unexpectedDiscards are the events that were discarded without the case expecting it.
func (r *running) unexpectedDiscards(ctx context.Context) (problems []Problem, err error) {
	state, err := r.fold(ctx)
	if err != nil {
		return nil, err
	}
	more := 0
	for _, topic := range state.Definition().Topics {
		for _, e := range eventsOf(state, topic) {
			switch {
			case e.Status != eventlog.EventStatusDiscarded, r.seen[refOf(e)], r.answeredFor(state, e):
			case len(problems) == maxNamed:
				more++
			default:
				text := fmt.Sprintf("%s of %s was discarded, and the case does not expect it with "+
					"expectEvents(%q, [… status: \"discarded\"])", e.MessageID, topic, topic)
				if failure := failureOf(state, e); failure != nil {
					text += ": " + inWords(failure)
				}
				problems = append(problems, problemf("%s", text)...)
			}
		}
	}
	if more > 0 {
		problems = append(problems, problemf("%d more events were discarded", more)...)
	}
	return problems, nil
}

// answeredFor reports whether the event that stands for a discarded one (J7) was worked on, or listed by the case.
func (r *running) answeredFor(state *projections.State, e *projections.TopicEvent) bool {
	consumer, ok := state.Definition().Subscriber(e.Topic)
	if !ok || consumer.DeadLetter == "" {
		return false
	}
	for _, letter := range eventsOf(state, consumer.DeadLetter) {
		var of eventlog.EventRef
		if json.Unmarshal(letter.Payload, &of) != nil || of != refOf(e) {
			continue
		}
		if _, listed := r.seen[refOf(letter)]; listed || letter.Status == eventlog.EventStatusConsumed {
			return true
		}
	}
	return false
}

func refOf(e *projections.TopicEvent) eventlog.EventRef {
	return eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
}

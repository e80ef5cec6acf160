package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// fold is the whole state of the workflow, its history included.
func (s *stage) fold(ctx context.Context) (state *projections.State, err error) {
	state = new(projections.State)
	for r, err := range s.log.ReadWorkflow(ctx, s.workflow, 1) {
		if err != nil {
			return state, fmt.Errorf("read the log of the test: %w", err)
		}
		if state, err = projections.Apply(state, &r); err != nil {
			return state, fmt.Errorf("fold the log of the test: %w", err)
		}
	}
	return state, nil
}

// hasLogged reports whether a line has the text.
func (s *stage) hasLogged(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.logged {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// lastLogged says which lines were logged last, at most five.
func (s *stage) lastLogged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.logged) == 0 {
		return "nothing was logged"
	}
	text := "last logged:"
	for _, line := range s.logged[max(0, len(s.logged)-5):] {
		text += " " + eventlog.Clip(line, 200) + ";"
	}
	return strings.TrimSuffix(text, ";")
}

// lastFailure is the failure of the newest run that failed, nil for none.
func (s *stage) lastFailure() *eventlog.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
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

// failureOf is what the last try of an event has ended with, nil for nothing.
func failureOf(state *projections.State, e *projections.TopicEvent) *eventlog.Failure {
	if len(e.Attempts) == 0 {
		return nil
	}
	last := e.Attempts[len(e.Attempts)-1]
	if run := state.Run(last.Run); last.Failure == nil && run != nil {
		return run.Failure
	}
	return last.Failure
}

// heldEvent is an event that waits by itself, with the failure of its last try, nil for none.
type heldEvent struct {
	*projections.TopicEvent
	failure *eventlog.Failure
}

// heldEvents lists them in the order in which they were published, topic by topic.
func (s *stage) heldEvents(ctx context.Context) (held []heldEvent, err error) {
	state, err := s.fold(ctx)
	if err != nil {
		return nil, err
	}
	for _, topic := range state.Definition().Topics {
		for _, e := range eventsOf(state, topic) {
			if e.Held != nil {
				held = append(held, heldEvent{e, failureOf(state, e)})
			}
		}
	}
	return held, nil
}

// inWords is a failure in words, with its line.
func inWords(f *eventlog.Failure) string {
	text := fmt.Sprintf("%s (%s): %s", f.Class, f.Code, f.Message)
	if f.Line > 0 {
		text += fmt.Sprintf(", at line %d of the script", f.Line)
	}
	return text
}

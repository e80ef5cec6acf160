package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Push brings events in from outside.
type Push struct {
	Topic eventlog.Topic
	Items []PushItem
}

// PushItem is one event from outside.
type PushItem struct {
	MessageID eventlog.MessageID
	Title     string
	Payload   json.RawMessage
	// Traceparent is the context of the sender's trace, as W3C Trace Context writes it; empty for none.
	Traceparent string
}

// Publish is one buffered publish.
type Publish struct {
	Topics    []eventlog.Topic
	MessageID eventlog.MessageID
	Title     string
	Payload   json.RawMessage
	// Input links to a registered input; empty registers one from the event itself.
	Input eventlog.InputID
}

// Input is one buffered registration.
type Input struct {
	Source, Type, ExternalID, Title string
}

// ID returns the input's id.
func (i Input) ID() eventlog.InputID { return eventlog.NewInputID(i.Source, i.Type, i.ExternalID) }

func (c Push) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return refuse(Conflict, "workflow.archived", "workflow %s is archived and takes no events", s.Name).
			hint(hint.OtherWorkflow)
	}
	if !s.Definition().HasTopic(c.Topic) {
		return refuse(NotFound, "topic.unknown", "workflow %s has no topic %q", s.Name, c.Topic).hint(hint.Topics,
			joinTopics(s.Definition().Topics))
	}
	for i, item := range c.Items {
		if err := item.MessageID.ValidatePublished(); err != nil {
			return refuse(Invalid, "event.invalid", "item %d: %v", i, err).hint(hint.EventForm)
		}
		if item.Title == "" {
			return refuse(Invalid, "event.invalid", "item %d (%s): title must be a non-empty string", i,
				item.MessageID).hint(hint.EventForm)
		}
		if eventlog.Deeper(item.Payload, eventlog.MaxDepth) {
			return refuse(Invalid, codeTooDeep, "item %d (%s): its payload is nested too deep: JSON may have %d levels", i,
				item.MessageID, eventlog.MaxDepth).hint(hint.Flatter)
		}
		if eventlog.TooLarge(item.Payload) {
			return refuse(Invalid, codeNumber, "item %d (%s): its payload has a number that is too large for scripts", i,
				item.MessageID).hint(hint.NumberAsText)
		}
	}
	for _, item := range c.Items { // what all items need is read together, before anything is folded
		d.event(c.Topic, item.MessageID)
		d.input(pushInput(c.Topic, item).ID())
	}
	if d.err != nil {
		return nil
	}
	created := 0
	for _, item := range c.Items {
		in := d.standIn(pushInput(c.Topic, item))
		result := PushResult{MessageID: item.MessageID, Result: PushUpdated}
		if d.publish(c.Topic, item.MessageID, item.Title, item.Payload, "", []eventlog.InputID{in}) {
			result.Result = PushCreated
			created++
			if item.Traceparent != "" {
				d.emit(&eventlog.EventTraced{Topic: c.Topic, MessageID: item.MessageID, Traceparent: item.Traceparent})
			}
		}
		if d.err != nil {
			continue // inputs that an event had from elsewhere are read together, too
		}
		result.Status = d.state().Event(c.Topic, item.MessageID).Status
		d.pushed = append(d.pushed, result)
	}
	if full := d.backlogFull(c.Topic, created); full != nil {
		return full
	}
	if facts := d.draft.Facts(); len(facts) > 0 {
		d.kind = "event.published"
	}
	return nil
}

// codeTooDeep is the code of JSON from outside whose lists and objects are nested too deep.
const codeTooDeep = "json.tooDeep"

// codeNumber is the code of JSON from outside with a number that a script would read as Infinity.
const codeNumber = "json.number"

// codeBacklogFull is the code of a push that the backlog's bound refuses.
const codeBacklogFull = "backlog.full"

// backlogFull refuses a push whose new events, which are in the draft already, pass the bound. A repeat (R11) is no new
// event. What waits in topics without a subscriber counts only for pushes to the same topic: nothing will ever work it
// off, so it must not block pushes to other topics.
func (d *decision) backlogFull(topic eventlog.Topic, created int) error {
	if created == 0 {
		return nil
	}
	s, waiting := d.state(), 0
	for _, w := range s.Waiting {
		if w.Topic == topic || s.Subscribed(w.Topic) {
			waiting += w.Events
		}
	}
	most := d.env.Policies.Backlog.Events
	if waiting <= most {
		return nil
	}
	return refuse(TooMany, codeBacklogFull,
		"%s pending in workflow %s, and %s would be more than policies.backlog.events allows, which is %d; none was recorded",
		eventlog.Count(waiting-created, "event")+be(waiting-created), s.Name, eventlog.Count(created, "new event"), most).
		hint(hint.FewerPending, s.Name)
}

func be(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

func joinTopics(topics []eventlog.Topic) string {
	out := ""
	for i, t := range topics {
		if i > 0 {
			out += ", "
		}
		out += string(t)
	}
	return out
}

// pushInput is the input that an event from outside registers (Causes).
func pushInput(topic eventlog.Topic, item PushItem) Input {
	return Input{Source: "push", Type: string(topic), ExternalID: string(item.MessageID), Title: item.Title}
}

// producedInput is the input that a producer's publish registers when it names none (Causes).
func producedInput(topic eventlog.Topic, p Publish) Input {
	return Input{Source: "producer", Type: string(topic), ExternalID: string(p.MessageID), Title: p.Title}
}

// causes is the union of the inputs of the run's reserved events (Causes).
func (d *decision) causes(run *projections.Run) []eventlog.InputID {
	var union []eventlog.InputID
	seen := map[eventlog.InputID]bool{}
	for _, ref := range run.Reserved {
		e := d.event(ref.Topic, ref.MessageID)
		if e == nil {
			continue
		}
		for _, id := range e.CausedBy {
			if !seen[id] {
				seen[id] = true
				union = append(union, id)
			}
		}
	}
	return union
}

// standIn registers the input that stands for an event from outside. It has the event's title: when the event comes
// again, the last title wins for both (R11).
func (d *decision) standIn(in Input) eventlog.InputID {
	id := in.ID()
	if known := d.input(id); known != nil && known.Title != in.Title {
		d.emit(&eventlog.InputRetitled{Input: id, Title: in.Title})
		return id
	}
	return d.register(id, in)
}

func (d *decision) register(id eventlog.InputID, in Input) eventlog.InputID {
	if d.input(id) == nil {
		d.emit(&eventlog.InputRegistered{Input: id, Source: in.Source, Type: in.Type, ExternalID: in.ExternalID,
			Title: in.Title})
	}
	return id
}

// publish is R11: a known message id is updated in place, whatever became of the event; a new
// one stands at the end and wakes its consumer (S3).
func (d *decision) publish(topic eventlog.Topic, id eventlog.MessageID, title string, payload []byte, by eventlog.RunID,
	causes []eventlog.InputID) (created bool) {
	if payload == nil {
		payload = []byte("null")
	}
	if e := d.event(topic, id); e != nil {
		if e.Title != title || string(e.Payload) != string(payload) || !slices.Equal(e.CausedBy, causes) {
			d.emit(&eventlog.EventRepublished{Topic: topic, MessageID: id, Title: title, Payload: payload, CausedBy: causes})
		}
		return false
	}
	d.emit(&eventlog.EventPublished{Topic: topic, MessageID: id, Title: title, Payload: payload, CreatedBy: by,
		CausedBy: causes})
	d.dirtySubscriber(topic)
	return true
}

// dirtySubscriber notes that the topic's consumer has something new to look at (S3). While it
// runs, the note must be newer than the run, or the run's commit would clear it.
func (d *decision) dirtySubscriber(topic eventlog.Topic) {
	if d.err != nil {
		return
	}
	s := d.state()
	c, ok := s.Definition().Subscriber(topic)
	if !ok || c.Concurrent() {
		return
	}
	h := s.Handler(c.Name)
	if h == nil || h.DirtyAt == s.Head.Revision {
		return
	}
	if run := s.CurrentRun(); h.DirtyAt == 0 || run != nil && run.Handler == c.Name {
		d.emit(&eventlog.HandlerDirtied{Handler: c.Name})
	}
}

// discard puts the event aside for a person. Where the consumer has a dead-letter topic, the same transition publishes
// an event there in its place, with the same inputs (J2, J7).
func (d *decision) discard(run *projections.Run, e *projections.TopicEvent, f eventlog.Failure) {
	d.emit(&eventlog.EventDiscarded{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
	to := d.consumer(run).DeadLetter
	if to == "" || d.err != nil {
		return
	}
	letter := deadLetter{
		Topic: e.Topic, MessageID: e.MessageID, Title: eventlog.Clip(e.Title, maxDeadTitle), Payload: e.Payload,
		Consumer: run.Handler, Run: run.ID, Attempts: e.Executions,
		Error: deadError{f.Class, f.Code, eventlog.Clip(f.Message, maxDeadMessage), f.Line},
	}
	payload, err := letter.encode()
	if err == nil && d.deadPayloads+len(payload) > maxDeadPayloads {
		letter.Payload, letter.Omitted = nil, true
		payload, err = letter.encode()
	}
	d.deadPayloads += len(payload)
	if err != nil {
		d.err = fmt.Errorf("write the dead letter of event %s in %s: %w", e.MessageID, e.Topic, err)
		return
	}
	d.publish(to, deadLetterID(run.ID, eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}), letter.Title, payload,
		run.ID, e.CausedBy)
}

// deadLetter is the payload of the event that is published in the place of a discarded one.
type deadLetter struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
	Title     string             `json:"title"`
	// Payload is that of the event; null and Omitted where there is no room for it.
	Payload  json.RawMessage  `json:"payload"`
	Omitted  bool             `json:"omitted,omitempty"`
	Consumer eventlog.Handler `json:"consumer"`
	Run      eventlog.RunID   `json:"run"`
	Attempts int              `json:"attempts"`
	Error    deadError        `json:"error"`
}

// encode writes the letter as it is kept: a payload is written as it came, and grows by no escapes.
func (l *deadLetter) encode() (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(l)
	return bytes.TrimSpace(text.Bytes()), err
}

type deadError struct {
	Class   eventlog.Class `json:"class"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Line    int            `json:"line,omitempty"`
}

// A run may discard all its events at once: that has to fit into one transition, together with the end of the run. If
// it did not, the outcome of the run's mutation could not be recorded either.
const (
	// maxDeadPayloads bounds the letters that have a payload, in bytes and together.
	maxDeadPayloads = 512 << 10
	maxDeadTitle    = 200
	maxDeadMessage  = 300
	// maxDeadEvents is how many events a run of a consumer with a dead-letter topic may reserve.
	maxDeadEvents = 100
)

// deadLetterID is the id of the dead letter of an event that the run discards. Another run that discards the event
// again writes another letter.
func deadLetterID(run eventlog.RunID, e eventlog.EventRef) eventlog.MessageID {
	id := eventlog.MessageID(string(e.Topic) + "/" + string(e.MessageID) + "/" + string(run))
	if id.ValidatePublished() != nil {
		id = eventlog.MessageID(eventlog.HashOf([]byte(string(e.Topic)+"/"+string(e.MessageID))).String() + "/" +
			string(run))
	}
	return id
}

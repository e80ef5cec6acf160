package subscription

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/ops/outgoing"
)

// The types of a body. The body holds everything that is said of a fact, so that the signature covers it: CloudEvents
// calls that the structured mode. A message with a text for a person is sent as plain JSON, which is all that chat
// tools accept.
const (
	contentType = "application/cloudevents+json"
	textType    = "application/json"
)

// TextHeader is the header of a message with a text for a person. It names the member of the data that is the text.
// That member is posted beside the event's attributes instead, where chat tools look for it.
const TextHeader = "pawl-text"

// attributes of an event, in the order in which they are written, and the headers of the stream's messages that hold
// them.
var attributes = []struct{ name, header string }{
	{"specversion", "ce-specversion"}, {"id", "ce-id"}, {"source", "ce-source"}, {"type", "ce-type"}, {"time", "ce-time"},
	{"partitionkey", "ce-partitionkey"}, {"sequence", "ce-sequence"}, {"pawlcount", "pawl-count"},
	{"pawlposition", "pawl-position"}, {"pawldata", "pawl-data"}, {"datacontenttype", "ce-datacontenttype"},
}

// event renders a message of a stream as the message that is posted.
func event(h nats.Header, data []byte) (outgoing.Message, error) {
	id := h.Get("ce-id")
	if id == "" {
		return outgoing.Message{}, fmt.Errorf("the message has no ce-id: pawl did not publish it")
	}
	var b strings.Builder
	message := outgoing.Message{ID: id, ContentType: contentType}
	separator := "{"
	for _, a := range attributes {
		if value := h.Get(a.header); value != "" {
			text, err := json.Marshal(value)
			if err != nil {
				return outgoing.Message{}, fmt.Errorf("write attribute %s of %s: %w", a.name, id, err)
			}
			b.WriteString(separator + `"` + a.name + `":`)
			b.Write(text)
			separator = ","
		}
	}
	if member := h.Get(TextHeader); member != "" {
		var texts map[string]json.RawMessage
		if err := json.Unmarshal(data, &texts); err != nil || texts[member] == nil {
			return outgoing.Message{}, fmt.Errorf("read the text of %s: there is none (%v)", id, err)
		}
		b.WriteString(`,"text":`)
		b.Write(texts[member])
		delete(texts, member)
		rest, err := json.Marshal(texts)
		if err != nil {
			return outgoing.Message{}, fmt.Errorf("write %s without its text: %w", id, err)
		}
		data = rest
		message.ContentType = textType
	}
	if len(data) > 0 {
		b.WriteString(`,"data":`)
		b.Write(data)
	}
	b.WriteString("}")
	message.Body = []byte(b.String())
	return message, nil
}

// announcement tells the receiver which messages it will not get.
func (g gap) announcement(stream, source string, now time.Time) (outgoing.Message, error) {
	data, err := json.Marshal(map[string]any{"stream": stream, "from": g.From, "to": g.To,
		"text": fmt.Sprintf("Pawl has dropped messages %d to %d of %s before they were delivered; some of them may have "+
			"been for you.", g.From, g.To, stream)})
	if err != nil {
		return outgoing.Message{}, fmt.Errorf("announce a gap: %w", err)
	}
	h := nats.Header{}
	h.Set("ce-specversion", "1.0")
	h.Set("ce-id", fmt.Sprintf("gap.%s.%d-%d", stream, g.From, g.To))
	h.Set("ce-source", source)
	h.Set("ce-type", typeGap)
	h.Set("ce-time", now.UTC().Format(time.RFC3339Nano))
	h.Set("ce-datacontenttype", "application/json")
	h.Set(TextHeader, "text")
	return event(h, data)
}

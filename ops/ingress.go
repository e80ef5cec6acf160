package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// parseEvents reads one event or an array of events. The text is checked once as a whole; after
// that its structure is certain, and each event is cut out of it in a single walk. Nothing that is
// returned refers to the text, whose buffer is used again.
func parseEvents(text []byte) (items []decide.PushItem, single bool, err error) {
	if !utf8.Valid(text) {
		return nil, false, rpc.Malformed("json.invalid", "the body is not UTF-8").WithHint(eventsHint)
	}
	if !json.Valid(text) {
		var whole json.RawMessage
		return nil, false, rpc.Malformed("json.invalid", "the body cannot be read: %s", rpc.JSONFault(json.Unmarshal(text, &whole), text)).WithHint(eventsHint)
	}
	w := walk{text: text}
	switch w.space(); w.text[w.at] {
	case '{':
		item, err := w.event(0)
		return []decide.PushItem{item}, true, err
	case '[':
		items, err := w.events()
		return items, false, err
	}
	return nil, false, rpc.Malformed("event.invalid", "the body is neither an event nor an array of events").
		WithHint("send {messageId, title, payload} or an array of them")
}

// eventsHint says what a push takes.
const eventsHint = "send one event or an array of events as JSON, encoded as UTF-8"

// walk moves through a text that is known to be valid JSON.
type walk struct {
	text []byte
	at   int
}

func (w *walk) space() {
	for w.text[w.at] == ' ' || w.text[w.at] == '\t' || w.text[w.at] == '\n' || w.text[w.at] == '\r' {
		w.at++
	}
}

func (w *walk) events() ([]decide.PushItem, error) {
	var items []decide.PushItem
	w.at++ // [
	for w.space(); w.text[w.at] != ']'; w.space() {
		if w.text[w.at] == ',' {
			w.at++
			w.space()
		}
		if w.text[w.at] != '{' {
			return nil, rpc.Malformed("event.invalid", "item %d is not an object", len(items)).WithHint("send {messageId, title, payload}")
		}
		item, err := w.event(len(items))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// event reads the object at which the walk stands. A field is known by its exact name and may
// stand once.
func (w *walk) event(n int) (decide.PushItem, error) {
	item := decide.PushItem{Payload: jsonNull}
	var seen [3]bool
	once := func(i int, name string) error {
		if seen[i] {
			return rpc.Malformed("field.twice", "item %d has field %s twice", n, name).WithHint("an event is {messageId, title, payload}, each once")
		}
		seen[i] = true
		return nil
	}
	w.at++ // {
	for w.space(); w.text[w.at] != '}'; w.space() {
		if w.text[w.at] == ',' {
			w.at++
			w.space()
		}
		name := w.value()
		w.space()
		w.at++ // :
		w.space()
		value := w.value()
		var err error
		switch {
		case bytes.Equal(name, nameMessageID):
			if err = once(0, "messageId"); err == nil {
				var id string
				id, err = text(value, n, "messageId")
				item.MessageID = eventlog.MessageID(id)
			}
		case bytes.Equal(name, nameTitle):
			if err = once(1, "title"); err == nil {
				item.Title, err = text(value, n, "title")
			}
		case bytes.Equal(name, namePayload):
			if err = once(2, "payload"); err == nil {
				item.Payload = bytes.Clone(value)
			}
		default:
			err = rpc.Malformed("field.unknown", "item %d has an unknown field %s", n, rpc.Clip(string(name))).WithHint("known fields: messageId, title, payload")
		}
		if err != nil {
			return item, err
		}
	}
	w.at++ // }
	for i, name := range []string{"messageId", "title"} {
		if !seen[i] {
			return item, rpc.Malformed("field.missing", "item %d has no %s", n, name).WithHint("an event is {messageId, title, payload}")
		}
	}
	return item, nil
}

var (
	nameMessageID = []byte(`"messageId"`)
	nameTitle     = []byte(`"title"`)
	namePayload   = []byte(`"payload"`)
	// jsonNull is the payload of an event without one. Nobody writes to a payload.
	jsonNull = json.RawMessage("null")
)

// value cuts out the value at which the walk stands.
func (w *walk) value() []byte {
	from, depth := w.at, 0
	for {
		switch w.text[w.at] {
		case '"':
			w.at++
			for w.text[w.at] != '"' {
				if w.text[w.at] == '\\' {
					w.at++
				}
				w.at++
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return bytes.TrimRight(w.text[from:w.at], " \t\r\n") // a number's or literal's end
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return bytes.TrimRight(w.text[from:w.at], " \t\r\n")
			}
			w.at++
			continue
		default:
			w.at++
			continue
		}
		w.at++
		if depth == 0 {
			return w.text[from:w.at]
		}
	}
}

// text reads a string value.
func text(value []byte, n int, field string) (string, error) {
	if value[0] != '"' {
		return "", rpc.Malformed("field.invalid", "item %d: %s must be a string", n, field).WithHint("an event is {messageId, title, payload}; the first two are strings")
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fmt.Errorf("read %s of item %d: %w", field, n, err)
	}
	return s, nil
}

package ingress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Parse reads one event or an array of events in a single pass. The result does not refer to the text, whose buffer is
// used again. The error is an *[rpc.Problem] with status 400. Its code is json.invalid for every text that is not valid
// JSON, even if a field before the fault is wrong too.
func Parse(text []byte) (items []decide.PushItem, single bool, err error) {
	if !utf8.Valid(text) {
		return nil, false, rpc.Malformed("json.invalid", "the body is not UTF-8").WithHint(eventsHint)
	}
	w := walk{jsontext.NewDecoder(bytes.NewBuffer(text), asJSON...)}
	if items, single, err = w.body(); err == nil {
		return items, single, nil
	}
	// The walk may have stopped at a wrong field before it came to invalid JSON.
	var whole json.RawMessage
	if fault := json.Unmarshal(text, &whole); fault != nil {
		err = rpc.Malformed("json.invalid", "the body cannot be read: %s", rpc.JSONFault(fault, text)).
			WithHint(eventsHint)
	}
	return nil, false, err
}

// eventsHint says what the body of a push is.
const eventsHint = "send one event or an array of events as JSON, encoded as UTF-8"

// asJSON are the options with which a text is read as encoding/json does: an escape of half a character is read as
// U+FFFD, and in a payload a member may occur twice.
var asJSON = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

// walk moves through a text.
type walk struct{ *jsontext.Decoder }

// body reads the whole text.
func (w *walk) body() (items []decide.PushItem, single bool, err error) {
	switch w.PeekKind() {
	case jsontext.KindBeginObject:
		single = true
		items = make([]decide.PushItem, 1)
		items[0], err = w.event(0)
	case jsontext.KindBeginArray:
		items, err = w.events()
	default:
		err = rpc.Malformed("event.invalid", "the body is neither an event nor an array of events").
			WithHint("send {messageId, title, payload} or an array of them")
	}
	if err != nil {
		return nil, false, err
	}
	if _, err := w.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read the end of the body: %w", err)
	}
	return items, single, nil
}

func (w *walk) events() ([]decide.PushItem, error) {
	var items []decide.PushItem
	if _, err := w.ReadToken(); err != nil { // [
		return nil, fmt.Errorf("read the events: %w", err)
	}
	for w.PeekKind() != jsontext.KindEndArray {
		if w.PeekKind() != jsontext.KindBeginObject {
			return nil, rpc.Malformed("event.invalid", "item %d is not an object",
				len(items)).WithHint("send {messageId, title, payload}")
		}
		item, err := w.event(len(items))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if _, err := w.ReadToken(); err != nil { // ]
		return nil, fmt.Errorf("read the events: %w", err)
	}
	return items, nil
}

// event reads the object at the present place. A field is known by its exact name and may occur once.
func (w *walk) event(n int) (decide.PushItem, error) {
	item := decide.PushItem{Payload: jsonNull}
	var seen [3]bool
	once := func(i int, name string) error {
		if seen[i] {
			return rpc.Malformed("field.twice", "item %d has field %s twice", n,
				name).WithHint("an event is {messageId, title, payload}, each once")
		}
		seen[i] = true
		return nil
	}
	if _, err := w.ReadToken(); err != nil { // {
		return item, fmt.Errorf("read item %d: %w", n, err)
	}
	for w.PeekKind() != jsontext.KindEndObject {
		name, err := w.ReadValue() // it is valid only until the next read
		if err != nil {
			return item, fmt.Errorf("read item %d: %w", n, err)
		}
		field := slices.IndexFunc(eventFields, func(f []byte) bool { return bytes.Equal(f, name) })
		if field < 0 {
			return item, rpc.Malformed("field.unknown", "item %d has an unknown field %s", n,
				eventlog.ClipName(string(name))).WithHint("known fields: messageId, title, payload")
		}
		value, err := w.ReadValue()
		if err != nil {
			return item, fmt.Errorf("read item %d: %w", n, err)
		}
		switch field {
		case fieldMessageID:
			if err = once(field, "messageId"); err == nil {
				var id string
				id, err = text(value, n, "messageId")
				item.MessageID = eventlog.MessageID(id)
			}
		case fieldTitle:
			if err = once(field, "title"); err == nil {
				item.Title, err = text(value, n, "title")
			}
		case fieldPayload:
			if err = once(field, "payload"); err == nil {
				item.Payload = bytes.Clone(value)
			}
		}
		if err != nil {
			return item, err
		}
	}
	if _, err := w.ReadToken(); err != nil { // }
		return item, fmt.Errorf("read item %d: %w", n, err)
	}
	for i, name := range []string{"messageId", "title"} {
		if !seen[i] {
			return item, rpc.Malformed("field.missing", "item %d has no %s", n,
				name).WithHint("an event is {messageId, title, payload}")
		}
	}
	return item, nil
}

const (
	fieldMessageID = iota
	fieldTitle
	fieldPayload
)

// eventFields are the exact names of the fields, as they are written in the text.
var eventFields = [][]byte{[]byte(`"messageId"`), []byte(`"title"`), []byte(`"payload"`)}

// jsonNull is the payload of an event without one. It is never written to.
var jsonNull = json.RawMessage("null")

// text reads a string value.
func text(value []byte, n int, field string) (string, error) {
	if value[0] != '"' {
		return "", rpc.Malformed("field.invalid", "item %d: %s must be a string", n,
			field).WithHint("an event is {messageId, title, payload}; the first two are strings")
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

package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/eventlog"
)

// maxTitle bounds the title of an event in bytes: what is longer is cut.
const maxTitle = 256

// Event is what a verified request becomes.
type Event struct {
	MessageID eventlog.MessageID
	Title     string
	Payload   json.RawMessage
}

// The codes of requests that are verified and cannot become an event.
const (
	CodeID        = "hook.id"        // the template of the id has no value for this request, or one that is no id
	CodeChallenge = "hook.challenge" // the challenge is too long to be answered
)

// EventOf is the event that the request is. The error is an *[Unreadable], or says that the declaration cannot be read.
func EventOf(h *eventlog.Hook, r *Request) (Event, error) {
	c, err := r.read()
	if err != nil {
		return Event{}, err
	}
	c.token = h.Verify.Query
	id, err := parseEvent(h.ID)
	if err != nil {
		return Event{}, err
	}
	title, err := parseEvent(h.Title)
	if err != nil {
		return Event{}, err
	}
	var e Event
	text, missing := id.fill(c.value)
	if len(missing) > 0 {
		return Event{}, &Unreadable{CodeID, "the request has no " + strings.Join(missing, " and no ") +
			", and the id of its event is made of that", "nothing was stored; correct the id of the hook " +
			string(h.Name) + ", or send what it names"}
	}
	e.MessageID = eventlog.MessageID(text)
	if err := e.MessageID.ValidatePublished(); err != nil {
		return Event{}, &Unreadable{CodeID, "the id of the request's event cannot be used: " + err.Error(),
			"nothing was stored; an id has 1 to 512 bytes without control characters, and is not . or .."}
	}
	text, _ = title.fill(c.value)
	e.Title = oneLine(text)
	if e.Title == "" {
		e.Title = oneLine(string(e.MessageID)) // as of an event that is pushed without a title
	}
	e.Payload, err = c.payload(h)
	return e, err
}

// oneLine is a text for people, cut where it is long.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return eventlog.Clip(strings.Join(strings.Fields(text), " "), maxTitle)
}

// maxAnswer bounds what a hook answers, in bytes.
const maxAnswer = 1024

// Challenge is the answer to a request that its sender makes only to find out whether the address accepts its hooks;
// false for any other request. The error is an *[Unreadable].
func Challenge(h *eventlog.Hook, r *Request) (answer string, ok bool, err error) {
	c, err := r.read()
	if err != nil {
		return "", false, err
	}
	text := ""
	if h.Respond != nil {
		text = h.Respond.Challenge
	}
	if kind, _ := c.value(fromBody, "type"); h.Verify.Scheme == schemeSlack && c.json != nil &&
		kind == "url_verification" {
		text = "{body:challenge}"
	}
	if text == "" {
		return "", false, nil
	}
	template, err := parseEvent(text)
	if err != nil {
		return "", false, err
	}
	answer, missing := template.fill(c.value)
	if len(missing) > 0 {
		return "", false, nil
	}
	if len(answer) > maxAnswer {
		return "", false, &Unreadable{CodeChallenge, "the challenge is too long to be answered",
			fmt.Sprintf("a challenge may have %d bytes", maxAnswer)}
	}
	return answer, true, nil
}

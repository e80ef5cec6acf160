package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Publish is one buffered publish (R10); visible only with the commit of its run.
type Publish struct {
	Topics    []string        `json:"topics"`
	MessageID string          `json:"messageId"`
	Title     string          `json:"title"`
	Payload   json.RawMessage `json:"payload"`
	InputID   string          `json:"inputId,omitempty"`
}

// Size is what the publish takes of Limits.Publish: each of its topics gets an event of its own.
func (p *Publish) Size() int {
	size := len(p.Topics) * (EventCost + len(p.MessageID) + len(p.Title) + len(p.Payload))
	for _, topic := range p.Topics {
		size += len(topic)
	}
	return size
}

// EventCost is added to the size of each event. Without it a script could publish any number of events that are nearly
// empty.
const EventCost = 128

// Input is one buffered ctx.registerInput; ID is what the script got back.
type Input struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Type   string `json:"type"`
	ExtID  string `json:"externalId"`
	Title  string `json:"title"`
}

// MutationCall is the call that took mutate over (R4).
type MutationCall struct {
	Connector string
	Operation string
	Params    json.RawMessage
	// Oversize is how many bytes the parameters have where Limits.Result allows fewer: then Params is nil, the
	// invocation has failed, and the call must not be sent (F14).
	Oversize int
	// Ask tells that the script wants a person to approve the call, whatever is granted.
	Ask bool
}

// LogLine is one ctx.log or console call.
type LogLine struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
	// Line is the line of the author's source that made the call, 0 where that is not known.
	Line int `json:"line,omitempty"`
}

// Result of an invocation that ended well.
type Result struct {
	// Value is what the handler returned, as JSON; nil is undefined.
	Value     json.RawMessage
	Publishes []Publish
	Inputs    []Input
	// Call is set when mutate named its mutation, also with an error about its parameters (F14); nothing of the
	// script ran after it.
	Call *MutationCall
	Logs []LogLine
	// Reads is how many connector reads were made.
	Reads int
	// Malformed is where prepare returned a Value that is no prepare result (R19), as far as the text shows it.
	Malformed Place
	// Counts are those of the statements of a Counted source, in the order of the text as far as the interpreter has
	// it; also with an error.
	Counts []Count
	// Mutate is the result of the mutate that was called after this prepare (Invocation.ThenMutate). It is nil where
	// mutate was not called: an executor may always leave that to its caller.
	Mutate *MutateResult
}

// MutateResult is how a mutate ended that the executor called right after prepare.
type MutateResult struct {
	Result
	// Failure is nil where mutate ended well.
	Failure *Error
}

// Count is how often a statement has run in one call.
type Count struct {
	Place
	Runs int
}

// maxMessageID is the longest message id, in bytes.
const maxMessageID = 512

// InputID is the id of the input that ctx.registerInput({source, type, id}) names: the same three
// values give the same id, in every run and outside of scripts. It is the id that the engine records,
// eventlog.NewInputID's; the engine's tests hold the two against each other.
func InputID(source, typ, id string) string {
	h := sha256.New()
	for _, part := range []string{source, typ, id} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return "in_" + hex.EncodeToString(h.Sum(nil)[:12])
}

// BadMessageID says what is wrong with a message id, or "". A replacement character stands for half
// of a surrogate pair: two such ids could not be told apart. Browsers take "." and ".." out of addresses.
func BadMessageID(id string) string {
	switch {
	case len(id) > maxMessageID:
		return "has more than 512 bytes"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "contains a control character"
	case strings.ContainsRune(id, utf8.RuneError):
		return "is not valid Unicode"
	case id == "." || id == "..":
		return "must not be . or .., which mean something else in addresses"
	}
	return ""
}

// EventMembers are the members of a published event; id and topic are those of an event that was
// peeked and is passed on, and mean nothing here.
var EventMembers = []string{"messageId", "title", "payload", "inputId", "id", "topic"}

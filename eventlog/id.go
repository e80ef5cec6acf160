package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Distinct id types, so that a run cannot be passed where a mutation is meant.
// All but topics and message ids are safe as one token of a NATS subject.
type (
	// WorkflowName is a workflow's name and identity: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`.
	WorkflowName string
	// TransitionID is a ULID, random per decision; every resend of an append carries the same one.
	TransitionID string
	// RunID is a ULID: one attempt of one handler.
	RunID string
	// MutationID is the id of the first run of the mutation's chain.
	MutationID string
	// InputID identifies an outside input of a workflow.
	InputID string
	// SessionID is a ULID: one burst of runs of a workflow.
	SessionID string
	// Handler is a producer's or consumer's name, a JavaScript identifier of at most 64 characters.
	Handler string
	// HookName is a hook's name, a part of its address: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`.
	HookName string
	// Topic is a dotted topic name of at most 128 characters.
	Topic string
	// MessageID is an author's id of a topic event: 1-512 bytes of UTF-8 without control
	// characters. It never becomes part of a subject.
	MessageID string
)

var (
	handlerPattern   = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]{0,63}$`)
	connectorPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// tokenPattern is the form of a name that is one token of a subject, as errors say it.
const tokenPattern = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

// isToken reports whether the text has the form of tokenPattern. It is no regular expression, since every append checks
// a name and a regular expression takes longer.
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '-'):
		default:
			return false
		}
	}
	return 0 < len(text) && len(text) <= 64
}

// Validate reports whether the name is usable as a workflow name: the error says which characters may stand in one.
func (n WorkflowName) Validate() error {
	if !isToken(string(n)) {
		return fmt.Errorf("workflow name %q must match %s", ClipName(string(n)), tokenPattern)
	}
	return nil
}

// Validate reports whether the handler's name is a JavaScript identifier of at most 64 characters,
// and returns an error for any other.
func (h Handler) Validate() error {
	if !handlerPattern.MatchString(string(h)) {
		return fmt.Errorf("handler name %q must be a JavaScript identifier of at most 64 characters", ClipName(string(h)))
	}
	return nil
}

// Validate reports whether the name is usable as a hook's: the error says which characters may stand in one.
func (h HookName) Validate() error {
	if !isToken(string(h)) {
		return fmt.Errorf("hook name %q must match %s", ClipName(string(h)), tokenPattern)
	}
	return nil
}

// Validate reports whether the topic is made of name tokens joined by dots, at most 128 characters. The
// error says which part is not.
func (t Topic) Validate() error {
	if len(t) == 0 || len(t) > 128 {
		return fmt.Errorf("topic %q must have 1 to 128 characters", ClipName(string(t)))
	}
	for token := range strings.SplitSeq(string(t), ".") {
		if !isToken(token) {
			return fmt.Errorf("topic %q: each part between dots must match %s", ClipName(string(t)), tokenPattern)
		}
	}
	return nil
}

// Validate reports whether the message id has 1-512 bytes of UTF-8 without control characters (R12).
// The error says which of these it breaks.
func (m MessageID) Validate() error {
	if len(m) == 0 || len(m) > 512 {
		return fmt.Errorf("messageId %q must have 1 to 512 bytes", ClipName(string(m)))
	}
	if !utf8.ValidString(string(m)) {
		return fmt.Errorf("messageId %q must be valid UTF-8", ClipName(string(m)))
	}
	for _, r := range string(m) {
		if r < 0x20 || (r >= 0x7f && r <= 0x9f) {
			return fmt.Errorf("messageId %q must not contain control characters", ClipName(string(m)))
		}
	}
	return nil
}

// ValidatePublished is Validate for an id that something is published under. U+FFFD stands for what
// could not be read, such as half of a surrogate pair: two such ids could not be told apart, so it is an error. So are
// "." and "..", which browsers and proxies take out of addresses: their event could not be shown or acted on.
func (m MessageID) ValidatePublished() error {
	if err := m.Validate(); err != nil {
		return err
	}
	if strings.ContainsRune(string(m), utf8.RuneError) {
		return fmt.Errorf("messageId %q must be valid Unicode: it holds U+FFFD, which stands for what could not be read",
			ClipName(string(m)))
	}
	if m == "." || m == ".." {
		return fmt.Errorf("messageId %q must not be . or .., which mean something else in addresses", string(m))
	}
	return nil
}

// ValidateConnectorName reports whether name may name a connector or an operation: the error says which characters may
// stand in one.
func ValidateConnectorName(name string) error {
	if !connectorPattern.MatchString(name) {
		return fmt.Errorf("%q must match [A-Za-z][A-Za-z0-9_]*", ClipName(name))
	}
	return nil
}

// NewInputID derives an input's id from what it is, so that registering it again is idempotent
// (Causes).
func NewInputID(source, kind, externalID string) InputID {
	var most [256]byte // a longer one goes to the heap
	b := most[:0]
	for _, part := range [...]string{source, kind, externalID} {
		b = append(append(b, part...), 0)
	}
	sum := sha256.Sum256(b)
	return InputID(hex.AppendEncode(append(b[:0], "in_"...), sum[:12]))
}

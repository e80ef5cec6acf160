package projections

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// EntityKind says what a key names.
type EntityKind byte

// The kinds of entities. The letters are part of the local store's keys.
const (
	KindWorkflow EntityKind = 'w'
	KindHandler  EntityKind = 'h'
	KindRun      EntityKind = 'r'
	KindEvent    EntityKind = 'e'
	KindMutation EntityKind = 'm'
	KindInput    EntityKind = 'i'
	KindSession  EntityKind = 's'
	KindScript   EntityKind = 'v'
	// KindPending is no entity: its key names the queue of a topic's pending events. KindKeyed names the same with
	// the keys that the events have for a consumer, KindPlace a pending event by its place in the queue.
	KindPending EntityKind = 'p'
	KindKeyed   EntityKind = 'k'
	KindPlace   EntityKind = 'q'
)

// Key names one entity of a workflow.
type Key struct {
	Kind EntityKind
	ID   string
}

// addKey adds the key to the list, unless it is there. seen is the set of what is in the list, once that is long.
func addKey(list []Key, seen *map[Key]struct{}, k Key) []Key {
	const few = 32
	if len(list) < few {
		if slices.Contains(list, k) {
			return list
		}
		return append(list, k)
	}
	if *seen == nil {
		*seen = make(map[Key]struct{}, 2*few)
		for _, known := range list {
			(*seen)[known] = struct{}{}
		}
	}
	if _, known := (*seen)[k]; known {
		return list
	}
	(*seen)[k] = struct{}{}
	return append(list, k)
}

// RunKey names a run.
func RunKey(id eventlog.RunID) Key { return Key{KindRun, string(id)} }

// MutationKey names a mutation.
func MutationKey(id eventlog.MutationID) Key { return Key{KindMutation, string(id)} }

// InputKey names an input.
func InputKey(id eventlog.InputID) Key { return Key{KindInput, string(id)} }

// SessionKey names a session.
func SessionKey(id eventlog.SessionID) Key { return Key{KindSession, string(id)} }

// ScriptKey names one version of the script.
func ScriptKey(v eventlog.Version) Key { return Key{KindScript, string(v)} }

// HandlerKey names a handler.
func HandlerKey(h eventlog.Handler) Key { return Key{KindHandler, string(h)} }

// WorkflowKey names the workflow itself.
func WorkflowKey() Key { return Key{Kind: KindWorkflow} }

// EventKey names a topic event. Neither part may hold a NUL: topics by their pattern, message
// ids because control characters are refused.
func EventKey(topic eventlog.Topic, id eventlog.MessageID) Key {
	return Key{KindEvent, string(topic) + "\x00" + string(id)}
}

// PendingKey names the queue of the topic's pending events.
func PendingKey(topic eventlog.Topic) Key { return Key{KindPending, string(topic)} }

// PlaceKey names the pending event at the place in the topic's queue: of one that is paged out, memory does not know
// the message id.
func PlaceKey(topic eventlog.Topic, at Ordinal) Key { return Key{KindPlace, pendingKey(topic, at)} }

// Place splits the key of a pending event by its place.
func (k Key) Place() (eventlog.Topic, Ordinal) {
	topic, at, _ := strings.Cut(k.ID, "\x00")
	if len(at) != 12 {
		return eventlog.Topic(topic), Ordinal{}
	}
	return eventlog.Topic(topic), Ordinal{Seq: binary.BigEndian.Uint64([]byte(at)),
		N: binary.BigEndian.Uint32([]byte(at[8:]))}
}

// Event splits the key of a topic event.
func (k Key) Event() eventlog.EventRef {
	topic, id, _ := strings.Cut(k.ID, "\x00")
	return eventlog.EventRef{Topic: eventlog.Topic(topic), MessageID: eventlog.MessageID(id)}
}

func pendingKey(topic eventlog.Topic, at Ordinal) string {
	var most [160]byte // topics have 128 characters at most
	b := append(most[:0], topic...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, at.Seq)
	b = binary.BigEndian.AppendUint32(b, at.N)
	return string(b)
}

// KeyedKey names the queue of the topic's pending events with their keys at the path.
func KeyedKey(topic eventlog.Topic, consumer eventlog.Handler, path string) Key {
	return Key{KindKeyed, string(topic) + "\x00" + string(consumer) + "\x00" + path}
}

// Keyed splits the key of a queue with keys.
func (k Key) Keyed() (topic eventlog.Topic, consumer eventlog.Handler, path string) {
	t, rest, _ := strings.Cut(k.ID, "\x00")
	c, path, _ := strings.Cut(rest, "\x00")
	return eventlog.Topic(t), eventlog.Handler(c), path
}

// maxKey bounds a key's text: a longer one is known by its hash. It becomes part of the log.
const maxKey = 256

// EventKeyAt returns the canonical JSON of the payload's value at the path, such as `customer.id` (C2): members in
// order, numbers as JavaScript writes them, no spaces. A number in the path is a place in an array. It is empty where
// the payload has no such value: the event waits for no other then. A value whose text is longer than 256 bytes is
// known by its hash.
func EventKeyAt(path string, payload json.RawMessage) string {
	if path == "" {
		return ""
	}
	value := payload
	for part := range strings.SplitSeq(path, ".") {
		var ok bool
		if value, ok = member(value, part); !ok {
			return ""
		}
	}
	text := canonical(value)
	if len(text) <= maxKey {
		return text
	}
	hash := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(hash[:])
}

// member is what stands in the JSON object or array under the name.
func member(value json.RawMessage, name string) (json.RawMessage, bool) {
	switch value = bytes.TrimLeft(value, " \t\r\n"); {
	case len(value) == 0:
	case value[0] == '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		found, ok := object[name]
		return found, ok
	case value[0] == '[':
		var array []json.RawMessage
		at, err := strconv.Atoi(name)
		if err != nil || json.Unmarshal(value, &array) != nil || at < 0 || at >= len(array) {
			return nil, false
		}
		return array[at], true
	}
	return nil, false
}

// zeros writes -0 as 0, as JavaScript does.
func zeros(v any) any {
	switch v := v.(type) {
	case float64:
		if v == 0 {
			return 0.0
		}
	case []any:
		for i := range v {
			v[i] = zeros(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = zeros(v[name])
		}
	}
	return v
}

// canonical writes equal values alike. What JavaScript cannot hold as a number stays as it is written.
func canonical(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) == nil {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if enc.Encode(zeros(v)) == nil {
			return strings.TrimSuffix(out.String(), "\n")
		}
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return ""
	}
	return out.String()
}

// laneKey is the number under which memory knows a key of the consumer's events, 0 for none. Two keys of the same
// number would wait for each other, which is safe and does not happen by chance.
func laneKey(consumer eventlog.Handler, path, text string) uint64 {
	if text == "" {
		return 0
	}
	h := fnv.New64a()
	for _, part := range []string{string(consumer), path, text} {
		_, _ = h.Write([]byte(part)) // it never fails
		_, _ = h.Write([]byte{0})
	}
	return max(h.Sum64(), 1)
}

package projections

import (
	"encoding/binary"
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

// KeyOf names an entity, or the queue that a backlog belongs to; false for what is neither.
func KeyOf(entity any) (Key, bool) {
	switch e := entity.(type) {
	case *Workflow:
		return WorkflowKey(), true
	case *Handler:
		return HandlerKey(e.Name), true
	case *Run:
		return RunKey(e.ID), true
	case *Mutation:
		return MutationKey(e.ID), true
	case *TopicEvent:
		return EventKey(e.Topic, e.MessageID), true
	case *Input:
		return InputKey(e.ID), true
	case *Session:
		return SessionKey(e.ID), true
	case *Script:
		return ScriptKey(e.Version), true
	case *Backlog:
		if e.Path != "" {
			return KeyedKey(e.Topic, e.Consumer, e.Path), true
		}
		return PendingKey(e.Topic), true
	}
	return Key{}, false
}

// Event splits the key of a topic event.
func (k Key) Event() eventlog.EventRef {
	topic, id, _ := strings.Cut(k.ID, "\x00")
	return eventlog.EventRef{Topic: eventlog.Topic(topic), MessageID: eventlog.MessageID(id)}
}

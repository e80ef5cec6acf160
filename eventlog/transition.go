package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Hash is the SHA-256 of a transition's stored bytes. The zero hash stands before revision 1.
type Hash [sha256.Size]byte

// HashOf returns the hash of a transition's stored bytes.
func HashOf(stored []byte) Hash { return sha256.Sum256(stored) }

// IsZero reports whether the hash is the one before revision 1.
func (h Hash) IsZero() bool { return h == Hash{} }

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Position addresses one message of the log.
type Position struct {
	Partition int
	Seq       uint64
}

func (p Position) String() string {
	return strconv.Itoa(p.Partition) + ":" + strconv.FormatUint(p.Seq, 10)
}

// ParsePosition reads `<partition>:<seq>`; a bare number means partition 0. It fails on anything else.
func ParsePosition(s string) (Position, error) {
	part, seq, found := strings.Cut(s, ":")
	if !found {
		part, seq = "0", s
	}
	p, err := strconv.Atoi(part)
	if err != nil || p < 0 {
		return Position{}, fmt.Errorf("read log position %q: want <partition>:<seq> or a number", s)
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return Position{}, fmt.Errorf("read log position %q: want <partition>:<seq> or a number", s)
	}
	return Position{Partition: p, Seq: n}, nil
}

// FactType names a kind of fact: entity and past participle, in exactly two tokens. It is part
// of the stored format and of subjects.
type FactType string

// Fact is something that became true of a workflow. Facts are explicit: applying them needs no
// decision and no lookup, so a later change of policy never rewrites history.
type Fact interface {
	FactType() FactType
}

// Head is where a workflow's past ends: what the next append is fenced on. The zero Head is
// that of a workflow that does not exist yet.
type Head struct {
	Revision uint64 // last revision
	Seq      uint64 // sequence of its message in the partition
	Hash     Hash   // hash of its stored bytes
}

// Actor is the person, client or system that caused a transition (O10).
type Actor struct {
	// Kind is "system", "user" or "api".
	Kind string `msgpack:"kind" json:"kind"`
	Name string `msgpack:"name" json:"name"`
	// Verified is true when the name comes from a credential, not from a claim.
	Verified bool `msgpack:"verified,omitempty" json:"verified"`
}

// System is the engine acting by itself.
var System = Actor{Kind: "system", Name: "pawl", Verified: true}

// Cause is what led to a transition: a run, a timer, a restart, an operation of the API.
type Cause struct {
	Kind string `msgpack:"kind" json:"kind"`
	ID   string `msgpack:"id,omitempty" json:"id,omitempty"`
}

// Transition is a list of facts that became true together: one decision, one message.
type Transition struct {
	ID       TransitionID
	Workflow WorkflowName
	// Revision is dense per workflow, from 1.
	Revision uint64
	// Prev is the hash of the stored bytes of the workflow's previous transition.
	Prev  Hash
	At    Instant
	Actor Actor
	Cause Cause
	// Kind names the transition by its leading fact's type, e.g. "run.prepared": two tokens, the
	// end of the subject.
	Kind  FactType
	Facts []Fact
}

// Record is a transition as it was read from the log.
type Record struct {
	Position Position
	// Hash is that of the stored bytes, Size their number.
	Hash Hash
	Size int
	Transition
}

// Head returns the workflow's head after this record.
func (r Record) Head() Head { return Head{Revision: r.Revision, Seq: r.Position.Seq, Hash: r.Hash} }

// MarshalJSON renders the record as the log's JSON: its facts stand under `events`. It fails where a fact does
// not encode.
func (r Record) MarshalJSON() ([]byte, error) {
	type fact struct {
		Type    FactType `json:"type"`
		Version int      `json:"version"`
		Data    Fact     `json:"data"`
	}
	facts := make([]fact, len(r.Facts))
	for i, f := range r.Facts {
		facts[i] = fact{f.FactType(), versionOf(f), f}
	}
	return json.Marshal(struct {
		Partition int          `json:"partition"`
		Seq       uint64       `json:"seq"`
		ID        TransitionID `json:"id"`
		Workflow  WorkflowName `json:"workflow"`
		Revision  uint64       `json:"revision"`
		Kind      FactType     `json:"kind"`
		At        Instant      `json:"at"`
		Actor     Actor        `json:"actor"`
		Cause     Cause        `json:"cause"`
		Events    []fact       `json:"events"`
	}{r.Position.Partition, r.Position.Seq, r.ID, r.Workflow, r.Revision, r.Kind, r.At, r.Actor, r.Cause, facts})
}

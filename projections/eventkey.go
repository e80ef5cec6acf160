package projections

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

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

// canonical writes equal values alike. What JavaScript cannot hold as a number stays as it is written.
func canonical(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) == nil {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if enc.Encode(v) == nil {
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

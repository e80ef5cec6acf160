package act

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
)

// The sources of the ids of payloads.
const (
	idFromHash = "hash"
	idFromPath = "path"
)

// checkIDs refuses flags that contradict each other.
func (c *Push) checkIDs() error {
	switch {
	case c.IDFrom != "" && c.ID != "":
		return exit.Misconfigured("keep one of them", "--id names one event, and --id-from makes an id for each")
	case c.IDFrom == idFromPath && c.IDPath == "":
		return exit.Misconfigured("write e.g. --id-from path --id-path order.id", "--id-from path needs the path: --id-path")
	case c.IDFrom != idFromPath && c.IDPath != "":
		return exit.Misconfigured("write --id-from path --id-path "+c.IDPath, "--id-path belongs to --id-from path")
	}
	return nil
}

// identified is the event of a payload with an id made of its content.
func (c *Push) identified(payload json.RawMessage, at documentPlace) (json.RawMessage, error) {
	var id string
	if c.IDFrom == idFromHash {
		same := jsontext.Value(bytes.Clone(payload))
		// The canonical form: neither the order of members nor spaces make another event.
		if err := same.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			return nil, exit.Misconfigured("correct it, or name the event with --id", "%s has no canonical form: %v",
				at, err)
		}
		sum := sha256.Sum256(same)
		id = hex.EncodeToString(sum[:])
	} else {
		var ok bool
		if id, ok = memberText(payload, strings.Split(c.IDPath, ".")); !ok || id == "" {
			return nil, exit.Misconfigured("every payload needs a text or a number there", "%s has no id at %s", at,
				c.IDPath)
		}
	}
	if err := eventlog.MessageID(id).ValidatePublished(); err != nil {
		return nil, exit.Misconfigured("name another member with --id-path", "%s: %v", at, err)
	}
	event, err := json.Marshal(pushed{MessageID: id, Title: cmp.Or(c.Title, id), Payload: payload})
	if err != nil {
		return nil, fmt.Errorf("write the event of %s: %w", at, err)
	}
	return event, nil
}

// memberText is the text or number at a path, as it is written.
func memberText(value json.RawMessage, path []string) (string, bool) {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return "", false
		}
		value = object[name]
	}
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text, true
	}
	var number json.Number
	if len(value) > 0 && value[0] != '"' && json.Unmarshal(value, &number) == nil {
		return number.String(), true
	}
	return "", false
}

package value

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Reserves reports whether a result of prepare, which the interpreter wrote, reserves events. sure is false where the
// result does not have the usual shape. The caller then has to decode it with encoding/json, as the host does, which
// also takes other spellings of the names. That is slower, and nearly all results have the usual shape.
func Reserves(result json.RawMessage) (reserves, sure bool) {
	if bytes.Count(result, []byte{'{'})+bytes.Count(result, []byte{'['}) > maxNesting {
		return false, false // it may be too deep for encoding/json
	}
	j := jsonText{text: string(result)}
	found := false
	sure = j.members(func(name string) bool {
		if name != "reservations" {
			return !strings.EqualFold(name, "reservations") && j.skip() == nil
		}
		found = true
		return j.items(func() bool {
			some, ok := j.reservation()
			reserves = reserves || some
			return ok
		})
	})
	return reserves, sure && found
}

// reservation reads one of the reservations; some reports whether it names an event.
func (j *jsonText) reservation() (some, ok bool) {
	ok = j.members(func(name string) bool {
		switch {
		case name == "topic":
			return j.skipString()
		case name == "ids":
			return j.items(func() bool {
				some = true
				return j.skipString()
			})
		}
		return !strings.EqualFold(name, "topic") && !strings.EqualFold(name, "ids") && j.skip() == nil
	})
	return some, ok
}

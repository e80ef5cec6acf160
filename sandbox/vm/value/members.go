package value

import (
	"encoding/json"
	"errors"
	"slices"
)

// jsonMember is one member of an object in JSON text, its value still text.
type jsonMember struct {
	name  string
	value json.RawMessage
}

// Object are those of one object, by their exact names: encoding/json would also take "messageid"
// for a field messageId.
type Object []jsonMember

// Members splits an object that the interpreter wrote, so that its names are distinct; ok is false for
// anything else than an object.
func Members(raw json.RawMessage) (all Object, ok bool) {
	j := jsonText{text: string(raw)}
	ok = j.members(func(name string) bool {
		from := j.at
		if j.skip() != nil {
			return false
		}
		all = append(all, jsonMember{name, raw[from:j.at:j.at]})
		return true
	})
	return all, ok
}

// Member is the value of a member, nil if there is none.
func (m Object) Member(name string) json.RawMessage {
	for i := range m {
		if m[i].name == name {
			return m[i].value
		}
	}
	return nil
}

// Others are the names besides the known ones, sorted.
func (m Object) Others(known []string) []string {
	var names []string
	for i := range m {
		if !slices.Contains(known, m[i].name) {
			names = append(names, m[i].name)
		}
	}
	slices.Sort(names)
	return names
}

// TextOf is the string that a JSON text is.
func TextOf(raw json.RawMessage) (string, error) {
	j := jsonText{text: string(raw)}
	if j.next() != '"' {
		return "", errors.New("no string in JSON")
	}
	return j.literal()
}

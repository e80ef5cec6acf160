package value

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"
)

func TestMembersAreThoseOfTheObject(t *testing.T) {
	for _, text := range append([]string{
		`{"a":"}","b":"{\"c\":[","d":{"e":["]",{}]},"f":[1,[2,{"g":"\\"}]],"h":-1.5e+7,"i":null,"j":true}`,
		`{"é":"ü","\u0061b":"\ud83d\ude00","":0}`,
	}, jsonTexts...) {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			continue // it is only given what the interpreter wrote
		} else if err != nil || want == nil {
			if got, ok := Members([]byte(text)); ok {
				t.Errorf("%s is taken for an object: %v", text, got)
			}
			continue
		}
		got, ok := Members([]byte(text))
		if !ok {
			t.Errorf("%s is taken for no object", text)
		}
		for i, m := range got {
			if slices.ContainsFunc(got[i+1:], func(later jsonMember) bool { return later.name == m.name }) {
				continue // an interpreter writes a name once
			}
			if string(m.value) != string(want[m.name]) {
				t.Errorf("%s: %q is %s, want %s", text, m.name, m.value, want[m.name])
			}
		}
		for name := range want {
			if !slices.ContainsFunc(got, func(m jsonMember) bool { return m.name == name }) {
				t.Errorf("%s: no %q", text, name)
			}
		}
	}
}

func TestUnknownMembersAreSorted(t *testing.T) {
	got, ok := Members([]byte(`{"z":1,"title":2,"a":3}`))
	if !ok || !slices.Equal(got.Others([]string{"title"}), []string{"a", "z"}) || string(got.Member("title")) != "2" ||
		got.Member("none") != nil {
		t.Errorf("%v %v", got, ok)
	}
}

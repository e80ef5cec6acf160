package config

import (
	"reflect"
	"strings"
	"testing"
)

// Vars are given to scripts as they are written; a secret, and what would arrive changed, is refused with its place.
func TestVarsOfTheFile(t *testing.T) {
	t.Parallel()
	c, err := loadText(t, "vars:\n  baseUrl: https://shop.example\n  limits: {a: [1, 2.5, -3], on: true}\n  gone:\n  "+
		"id: \"12\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range c.Vars.asJSON() {
		got[name] = string(text)
	}
	if want := map[string]string{"baseUrl": `"https://shop.example"`, "limits": `{"a":[1,2.5,-3],"on":true}`,
		"id": `"12"`}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"vars: [a]":                                         "want keys with values",
		"vars: {a-b: 1}":                                    "c.yaml:1:13: vars: the name \"a-b\"",
		"vars: {key: \"${env:API_TOKEN}\"}":                 "vars.key refers to a secret",
		"vars: {a: [{b: \"x${file:t.txt}\"}]}":              "vars.a refers to a secret",
		"vars: {id: 9007199254740993}":                      "vars.id holds a number that a script cannot hold exactly",
		"vars: {id: -9007199254740993}":                     "vars.id holds a number that a script cannot hold exactly",
		"vars: {n: .inf}":                                   "vars.n holds a number that a script cannot hold exactly",
		"vars: {t: \"" + strings.Repeat("x", 70000) + "\"}": "the vars have ",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "API_TOKEN") {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// A profile changes single vars, and takes one away.
func TestVarsOfAProfile(t *testing.T) {
	t.Parallel()
	written := &configText{path: "c.yaml"}
	text, err := withProfile([]byte("vars: {a: 1, b: 2}\nprofiles: {staging: {vars: {b: 3, a: }}}\n"), "staging", written)
	if err != nil || string(text) != `{"vars":{"b":3}}` {
		t.Errorf("%s, %v", text, err)
	}
}

package intl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"testing"
)

// expected is one line of what Node made of a format.
type expected struct {
	Kind, Locale, Value, Other, Text string
	Options                          map[string]any
	Parts                            [][2]string
	Resolved                         map[string]string
}

// TestEqualsNode: every combination of locale and options gives what Node 20 gives. The lines are made by
// testdata/expect.mjs: node testdata/expect.mjs > testdata/expected.jsonl. PAWL_INTL_EXPECTED names
// another file, such as a larger one with another seed.
func TestEqualsNode(t *testing.T) {
	t.Parallel()
	path := "testdata/expected.jsonl"
	if other := os.Getenv("PAWL_INTL_EXPECTED"); other != "" {
		path = other
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, wrong := 0, 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); lines++ {
		var want expected
		if err := json.Unmarshal(scanner.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		text, parts, err := want.format()
		if err != nil || text != want.Text {
			t.Errorf("%s %s %s %v: got %q, want %q, %v", want.Kind, want.Locale, want.Value, want.Options, text,
				want.Text, err)
			wrong++
			continue
		}
		for i, p := range parts {
			if len(parts) != len(want.Parts) || want.Parts[i] != [2]string{p.Type, p.Value} {
				t.Errorf("%s %s %s %v: parts %v, want %v", want.Kind, want.Locale, want.Value, want.Options, parts,
					want.Parts)
				break
			}
		}
		if want.Resolved != nil {
			want.resolved(t)
		}
		if wrong > 60 {
			t.Fatal("and so on")
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines", lines)
	}
}

// resolved checks the options that a number's format understood.
func (e expected) resolved(t *testing.T) {
	t.Helper()
	l, err := Lookup(e.Locale)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Numbers(l, e.given())
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, p := range f.Resolved() {
		got[p[0]] = p[1]
	}
	if !maps.Equal(got, e.Resolved) {
		t.Errorf("%s %v: resolved %v, want %v", e.Locale, e.Options, got, e.Resolved)
	}
}

// given are the options as texts.
func (e expected) given() Options {
	o := make(Options)
	for name, v := range e.Options {
		o[name] = fmt.Sprint(v)
	}
	return o
}

func (e expected) format() (string, []Part, error) {
	o := e.given()
	l, err := Lookup(e.Locale)
	if err != nil {
		return "", nil, err
	}
	switch e.Kind {
	case "order":
		c, err := Collation(l, o)
		if err != nil {
			return "", nil, err
		}
		return strconv.Itoa(c.Compare(e.Value, e.Other)), nil, nil
	case "date":
		f, err := Dates(l, o, AnyFields)
		if err != nil {
			return "", nil, err
		}
		at, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil {
			return "", nil, err
		}
		return f.Format(at), f.Parts(at), nil
	}
	x, err := strconv.ParseFloat(e.Value, 64)
	if err != nil {
		return "", nil, err
	}
	if e.Kind == "plural" {
		p, err := Plurals(l, o)
		if err != nil {
			return "", nil, err
		}
		return p.Select(x), nil, nil
	}
	f, err := Numbers(l, o)
	if err != nil {
		return "", nil, err
	}
	return Text(f.Parts(x)), f.Parts(x), nil
}

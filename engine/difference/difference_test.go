package difference

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, whole, beyond string }{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, "", ""},
		{`1e2`, `100`, "", ""},
		{`[90071992547409931]`, `[90071992547409932]`, "[0]: 90071992547409931 -> 90071992547409932",
			"[0]: 90071992547409931 -> 90071992547409932"},
		{`{"a":{"x":1}}`, `{"a":{"x":2,"y":3},"b":1}`, "a.x: 1 -> 2; a.y: -> 3; b: -> 1", "a.x: 1 -> 2"},
		{`[1,2,3]`, `[1,4]`, "[1]: 2 -> 4; [2]: 3 ->", "[1]: 2 -> 4; [2]: 3 ->"},
		{`{"rows":[{"id":"a<b"}]}`, `{"rows":[{"id":7}]}`, `rows[0].id: "a<b" -> 7`, `rows[0].id: "a<b" -> 7`},
		{`{"a b":1}`, `{"a b":null}`, `["a b"]: 1 -> null`, `["a b"]: 1 -> null`},
		{`{"a":[]}`, `{"a":{}}`, "a: [] -> {}", "a: [] -> {}"},
		{`null`, `{}`, ": null -> {}", ": null -> {}"},
	} {
		for how, of := range map[string]func(a, b json.RawMessage) ([]Difference, error){c.whole: Of, c.beyond: Beyond} {
			found, err := of(json.RawMessage(c.before), json.RawMessage(c.after))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, d := range found {
				texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s: %s -> %s", d.Path, d.Before, d.After)))
			}
			got := strings.ReplaceAll(strings.Join(texts, "; "), ":  ->", ": ->")
			if got != how && got != c.whole && got != c.beyond {
				t.Errorf("%s and %s: %q, want %q", c.before, c.after, got, how)
			}
		}
	}
	if _, err := Of(json.RawMessage(`{`), json.RawMessage(`1`)); err == nil {
		t.Error("half of a value was compared")
	}
}

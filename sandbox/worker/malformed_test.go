package worker

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// R19: a prepare result without reservations is malformed. The host refuses it, and is told the author's line.
func TestR19_MalformedResultsHaveAPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		line int // 0 for a result that can be read
	}{
		"reserves none":            {"\nreturn { reservations: [] }", 0},
		"reserves":                 {"\nreturn { reservations: [{ topic: 't.a', ids: ['1'] }], data: null }", 0},
		"no reservations":          {"\n\nreturn { data: 5 }", 3},
		"null":                     {"\nreturn { reservations: null }", 1},
		"the only one without":     {"if (!ctx) return { reservations: [] };\n\nreturn { reservation: [] }", 3},
		"one of several":           {"\nif (!ctx) return { data: 1 };\nreturn { data: 2 }", 1},
		"reservations of the data": {"\nreturn { data: { reservations: [] } }", 2},
		"nothing":                  {"\nctx.now()", 1},
		"a text":                   {"\nreturn 'no'", 2},
		"no list":                  {"\nreturn { reservations: 't.a' }", 2},
		"ids that are none":        {"\nreturn { reservations: [{ topic: 't.a', ids: [5] }] }", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := succeed(t, sandbox.Prepare, c.body); r.Malformed.Line != c.line {
				t.Errorf("%s was returned in line %d, want %d", r.Value, r.Malformed.Line, c.line)
			}
		})
	}
	if r := succeed(t, sandbox.Next, "\nreturn { data: 5 }"); r.Malformed != (sandbox.Place{}) {
		t.Errorf("a state has no reservations: %+v", r.Malformed)
	}
}

package typings

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// aside are comments and string literals: what stands in them declares nothing.
var aside = regexp.MustCompile(`(?s)/\*.*?\*/|"(?:[^"\\\n]|\\.)*"`)

// Whatever a tool says of itself, it is a name, a literal or a comment: nothing of it is read as TypeScript.
func TestNothingIsInjected(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{
		`}; declare const evil: any; interface X {`, `*/ evil /*`, `" | evil | "`, `\" | evil | "`, `\`, `\u0022 | evil`,
		"a\nevil", "a\r\nevil", "a\u2028evil", "a\u2029evil", "`${evil}`", "'evil", "/* evil", "// evil", "evil\x00",
		"\u202eevil", "evil\U000e0001", "**/evil", "*\u200b/evil", "* /evil */", "évil: evil", "<evil>", "evil?: evil",
	} {
		text, err := json.Marshal(evil)
		if err != nil {
			t.Fatal(err)
		}
		schema := json.RawMessage(fmt.Sprintf(`{"type": "object", "required": [%[1]s, "b"], "title": %[1]s,
			"properties": {%[1]s: {"enum": [%[1]s, {%[1]s: 1}], "description": %[1]s}, "r": {"$ref": %[2]s}, "t": {"type": %[1]s}},
			"additionalProperties": {"const": %[1]s}, "description": %[1]s, "$defs": {%[1]s: {"const": %[1]s}}}`,
			text, mustMarshal(t, "#/$defs/"+strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(evil))))
		operation := Operation{Name: "op", Kind: "list", Summary: evil, Schema: schema, Result: schema}
		declared := Declare([]Connector{
			{Name: "tool", Operations: []Operation{operation, {Name: evil, Kind: "list"}, {Name: "kind", Kind: evil}}},
			{Name: evil, Operations: []Operation{operation}},
		})
		rest, found := strings.CutPrefix(declared, sandbox.Typings)
		if !found {
			t.Fatal("the declarations of scripts are not what they were")
		}
		read := aside.ReplaceAllString(rest, "_")
		// The name of a type may hold letters of a reference.
		read = regexp.MustCompile(`\bToolOp(Params|Result)\w*`).ReplaceAllString(read, "_")
		for _, sign := range []string{"evil", "declare", "*/", "`", "'", "\\", "\"", "//"} {
			if strings.Contains(read, sign) {
				t.Errorf("%q leaves %s outside of names, literals and comments:\n%s", evil, sign, rest)
				break
			}
		}
		for _, r := range rest {
			if r != '\n' && r != ' ' && (r < ' ' || strings.ContainsRune("\u2028\u2029\u202e\u200b\U000e0001", r)) {
				t.Errorf("%q leaves a character that nobody sees: %U", evil, r)
			}
		}
		if strings.Contains(rest, "readonly kind") || strings.Count(rest, "interface PawlConnectors") != 1 {
			t.Errorf("what has no name or kind is declared:\n%s", rest)
		}
	}
}

func mustMarshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// However large, deep or often repeated a schema is, what is written of it has a bounded size.
func TestSizeIsBounded(t *testing.T) {
	t.Parallel()
	var doubling, members, choices strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d": {"properties": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}},`, i, i+1,
			i+1)
	}
	for i := range 5000 {
		fmt.Fprintf(&members, `"m%d": {"type": "string"},`, i)
		fmt.Fprintf(&choices, `{"const": "%d"},`, i)
	}
	all := func(b strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	deep := func(before, after string) string {
		return strings.Repeat(before, 5000) + `{"type": "string"}` + strings.Repeat(after, 5000)
	}
	circle := `{"$ref": "#/$defs/d0", "$defs": {`
	for i := range 3000 {
		circle += fmt.Sprintf(`"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]},`, i, (i+1)%3000, i/2)
	}
	for name, schema := range map[string]string{
		"references that double": `{"$ref": "#/$defs/d0", "$defs": {` + all(doubling) + `}}`,
		"members":                `{"properties": {` + all(members) + `}}`,
		"choices":                `{"anyOf": [` + all(choices) + `]}`,
		"all of":                 `{"allOf": [` + all(choices) + `]}`,
		"a long enum":            `{"enum": [` + all(choices) + `]}`,
		"deep lists":             deep(`{"items": `, `}`),
		"deep objects":           deep(`{"properties": {"a": `, `}}`),
		"deep choices":           deep(`{"anyOf": [{"type": "null"}, `, `]}`),
		"a large circle":         strings.TrimSuffix(circle, ",") + `}}`,
		"a long description":     `{"properties": {"a": {"description": "` + strings.Repeat("long ", 50000) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConverter(json.RawMessage(schema), "X", false, map[string]bool{})
			if text := c.parameter() + c.declarations(); len(text) > 100_000 {
				t.Errorf("%d bytes: %.300s", len(text), text)
			}
		})
	}
}

package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/eventlog"
)

// doubling refers to the next definition twice, n times over: 2 to the n ways lead to the last.
func doubling(n int, twice, last string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(twice, "NEXT", next))
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, last)
	return b.String()
}

// nested is a value with n levels.
func nested(open, close string, n int) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(close, n)
}

func valueOf(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Whatever a schema says, a check ends, with little work and memory.
func TestACheckIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ schema, value string }{
		"allOf":            {doubling(60, `{"allOf":[NEXT,NEXT]}`, `{"type":"object"}`), `{}`},
		"allOf that fails": {doubling(60, `{"allOf":[NEXT,NEXT]}`, `{"type":"string"}`), `{}`},
		"anyOf that fails": {doubling(60, `{"anyOf":[NEXT,NEXT]}`, `{"type":"string"}`), `{}`},
		"oneOf":            {doubling(60, `{"oneOf":[NEXT,NEXT]}`, `{"type":"string"}`), `{}`},
		"not in not":       {doubling(60, `{"not":{"anyOf":[NEXT,NEXT]}}`, `{"type":"string"}`), `{}`},
		"if":               {doubling(60, `{"if":NEXT,"then":NEXT,"else":NEXT}`, `{}`), `{}`},
		"properties": {
			`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/a"}}},` +
				`{"properties":{"x":{"$ref":"#/$defs/a"}}}]}}}`,
			nested(`{"x":`, `}`, 200),
		},
		"items, unseen errors": {
			`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b","items":{"$ref":"#/$defs/a"}},` +
				`"b":{"items":{"$ref":"#/$defs/a"},"minItems":5}}}`,
			nested(`[`, `]`, 200),
		},
		"draft 7": {strings.Replace(doubling(60, `{"allOf":[NEXT,NEXT]}`, `{"type":"object"}`), `{`,
			`{"$schema":"http://json-schema.org/draft-07/schema#",`, 1), `{}`},
		"draft 7 nested": {strings.Replace(doubling(60, `{"allOf":[NEXT,NEXT]}`, `{"type":"object"}`),
			`{"$ref":"#/$defs/d0"`, `{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#/$defs/d0"}]`, 1),
			`{}`},
		"dependent": {doubling(60, `{"dependentSchemas":{"a":NEXT,"b":NEXT}}`, `{"type":"object"}`),
			`{"a":1,"b":1}`},
		"dynamic": {
			`{"$dynamicAnchor":"n","allOf":[{"properties":{"x":{"$dynamicRef":"#n"}}},` +
				`{"properties":{"x":{"$dynamicRef":"#n"}}}]}`,
			nested(`{"x":`, `}`, 200),
		},
		"property names": {doubling(60, `{"allOf":[NEXT,NEXT]}`, `{"propertyNames":{"pattern":"a"}}`), `{"a":1}`},
		"patterns": {`{"items":{"pattern":"(a*)*(a*)*(a{1,50}){1,10}$"}}`,
			`[` + strings.Repeat(`"`+strings.Repeat("a", 10_000)+`b",`, 50) + `"b"]`},
		"enum": {`{"items":{"enum":[` + strings.Repeat(`[[1],[2],[3]],`, 2000) + `1]}}`,
			`[` + strings.Repeat(`[[1],[2],[4]],`, 20_000) + `1]`},
		"contains": {doubling(60, `{"contains":{"allOf":[NEXT,NEXT]}}`, `{}`), nested(`[`, `]`, 80)},
		"unevaluated": {doubling(60, `{"allOf":[NEXT,NEXT],"unevaluatedProperties":false}`,
			`{"properties":{"a":true}}`), `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := CompileSchema(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			value := valueOf(t, c.value)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := schema.Validate(t.Context(), value); !errors.Is(err, errCostly) {
				t.Errorf("%.300v", err)
			}
			runtime.ReadMemStats(&after)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 512<<20 {
				t.Errorf("%d MiB for one check", spent>>20)
			}
		})
	}
}

// What is honest is checked whatever its size, with the same outcome as without bounds.
func TestAnHonestCheckIsNotBounded(t *testing.T) {
	rows := make([]string, 20_000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"name":"row %d","tags":["a","b"],"price":12.5}`, i, i)
	}
	const row = `{"type":"object","required":["id","name"],"additionalProperties":false,"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":40,"pattern":"^row [0-9]+$"},
		"tags":{"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true},"price":{"oneOf":[{"type":"number"},{"type":"string"}]}}}`
	schema, err := CompileSchema(json.RawMessage(`{"type":"array","items":` + row + `}`))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(rows, ",")
	if err := schema.Validate(t.Context(), valueOf(t, "["+all+"]")); err != nil {
		t.Errorf("%.300v", err)
	}
	err = schema.Validate(t.Context(), valueOf(t, "["+all+`,{"id":-1,"name":"x","more":1}]`))
	if problems := SomeProblems(err); !strings.Contains(problems, "20000.id: ") || !strings.Contains(problems,
		"20000.name: ") {
		t.Errorf("%.300s", problems)
	}
	// A recursive schema on a deep value.
	tree, err := CompileSchema(json.RawMessage(
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":["object","integer"],"properties":{"x":{"$ref":"#/$defs/n"}},` +
			`"required":["x"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Validate(t.Context(), valueOf(t, nested(`{"x":`, `}`, 500))); err != nil {
		t.Error(err)
	}
	if err := tree.Validate(t.Context(), valueOf(t, strings.Replace(nested(`{"x":`, `}`, 50), "1", `"a"`,
		1))); SomeProblems(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestSchemasAreBounded(t *testing.T) {
	many := func(n int, part string) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }
	for name, c := range map[string]struct{ schema, want string }{
		"size":           {`{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "at most 262144 are allowed"},
		"parts":          {`{"anyOf":[` + many(25_000, `{}`) + `]}`, "at most 20000 are allowed"},
		"depth":          {strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), "nested too deeply"},
		"number":         {`{"minimum":1e999999999}`, "out of range"},
		"digits":         {`{"minimum":` + strings.Repeat("9", 2000) + `}`, "at most 1000"},
		"a long pattern": {`{"pattern":"` + strings.Repeat("a{1000}", 3000) + `"}`, "the pattern is too long"},
		"pattern":        {`{"pattern":"((a{1,100}){1,10}b{1,900}){1}"}`, "the pattern is too big"},
		"file":           {`{"$ref":"file:///etc/passwd"}`, "may only refer to itself"},
		"words":          {`{"type":5}`, "compile JSON Schema"},
	} {
		if _, err := CompileSchema(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// Numbers that would be written out, and values too deep, are refused before they are looked at.
func TestValuesAreBounded(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(`{"minimum":0,"items":{"uniqueItems":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"1e999999999": "out of range", "1e-999999999": "out of range", "[[1e99999999999999999999999]]": "out of range",
		strings.Repeat("1", 5000): "at most 1000", nested("[", "]", 2000): "nested too deeply",
	} {
		if err := schema.Validate(t.Context(), valueOf(t, value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", value, err)
		}
	}
	if err := schema.Validate(t.Context(), valueOf(t, "1e300")); err != nil {
		t.Error(err)
	}
}

// A check ends with its call, also while it waits for others of the same schema.
func TestACheckEndsWithItsCall(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(doubling(60, `{"allOf":[NEXT,NEXT]}`, `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := schema.Validate(over, valueOf(t, `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	schema.turn <- struct{}{}
	waiting, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := schema.Validate(waiting, valueOf(t, `{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// What a hostile schema costs a call: a failure that names the connector, before anything is sent.
func TestAHostileSchemaFailsTheCall(t *testing.T) {
	hostile := json.RawMessage(doubling(60, `{"allOf":[NEXT,NEXT]}`, `{}`))
	sent := false
	c := &scripted{name: "mail", operations: []Operation{{Name: "send", Kind: Mutate, Schema: hostile}},
		perform: func() { sent = true }}
	r, err := NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	out := r.Perform(t.Context(), Call{Connector: "mail", Operation: "send", Key: "K", Params: json.RawMessage(`{}`)})
	if out.Status != Failed || out.Failure.Class != eventlog.Internal || out.Failure.Code != CodeSchema || sent {
		t.Errorf("%+v %v, sent %t", out, out.Failure, sent)
	}
	// A deploy that looks at many such calls ends too, and is silent about them.
	params := ReadParamSchema("mail", "send", hostile)
	for range 1000 {
		if found := params.Violations(&Partial{Kind: "object"}); len(found) > 0 {
			t.Fatal(found)
		}
	}
}

// scripted is a connector that does as it is told.
type scripted struct {
	name       string
	operations []Operation
	perform    func()
}

func (s *scripted) Name() string            { return s.name }
func (s *scripted) Operations() []Operation { return s.operations }
func (s *scripted) Read(context.Context, Call) (json.RawMessage, error) {
	return json.RawMessage("null"), nil
}
func (s *scripted) Perform(context.Context, Call) Outcome {
	s.perform()
	return Outcome{Status: Applied}
}
func (s *scripted) Reconcile(context.Context, Call) Reconciliation { return Reconciliation{} }

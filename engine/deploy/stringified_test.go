package deploy_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
)

// TestStringifiedParameterIsNamed: JSON.stringify for a parameter that is sent as JSON by itself makes one text of an
// object. A parameter that is a text, or whose schema does not say, is left alone.
func TestStringifiedParameterIsNamed(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "properties": {"body": {}, "order": {"type": "object"}, "list": {"type": ["array",
		"null"]}, "text": {"type": "string"}, "note": {"type": ["string", "null"]}, "either": {"anyOf": [{"type":
		"string"}]}, "day": {"format": "date"}}}`
	for argument, named := range map[string]bool{
		`{ body: JSON.stringify(data) }`:                   true,
		`{ body: JSON.stringify({ id: data.id }) }`:        true,
		`{ order: JSON.stringify(data) }`:                  true,
		`{ list: JSON["stringify"](list) }`:                true,
		`{ text: JSON.stringify(data) }`:                   false,
		`{ note: JSON.stringify(data) }`:                   false,
		`{ either: JSON.stringify(data) }`:                 false,
		`{ day: JSON.stringify(data) }`:                    false,
		`{ other: JSON.stringify(data) }`:                  false,
		`{ body: data }`:                                   false,
		`{ body: JSON.parse(data) }`:                       false,
		`{ body: { inner: JSON.stringify(data) } }`:        false,
		`{ body: ((JSON) => JSON.stringify(data))(list) }`: false,
	} {
		found := ordering(t, schema, "", argument)
		i := slices.IndexFunc(found, func(p sandbox.Problem) bool { return p.Code == deploy.CodeStringified })
		if (i >= 0) != named {
			t.Errorf("%s: %+v", argument, found)
		}
		if i >= 0 && (found[i].Severity != sandbox.SeverityWarning || found[i].Fix == "" || found[i].Line != 5) {
			t.Errorf("%s: %+v", argument, found[i])
		}
	}
}

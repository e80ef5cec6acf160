package deploy

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// stringified warns of JSON.stringify(x) as the value of a parameter whose schema does not ask for a text: the value
// is sent as JSON by itself, so the other side would get one text instead of the object.
func (c *check) stringified(call *sandbox.WrittenCall, schema json.RawMessage) {
	for i := range call.Params.Members {
		m := &call.Params.Members[i]
		if !m.Value.Stringified || !takesOtherThanText(schema, m.Name) {
			continue
		}
		c.warn(CodeStringified, "write the value itself: "+eventlog.ClipName(m.Name)+": x instead of JSON.stringify(x)",
			"%s of ctx.%s.%s is sent as JSON by itself; with JSON.stringify it arrives as one text",
			eventlog.ClipName(m.Name), eventlog.ClipName(call.Connector), eventlog.ClipName(call.Operation))
		c.at(m.Value.Place)
		c.edit(c.amend().Unwrap(m.Value.StringifiedAt, "JSON.stringify"))
	}
}

// takesOtherThanText reports whether a schema lists a parameter and does not name text as one of its types. A
// parameter whose types stand in another form than "type" is left to the call.
func takesOtherThanText(schema json.RawMessage, parameter string) bool {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object.Properties[parameter], &members) != nil {
		return false
	}
	text, typed := members["type"]
	if !typed {
		// No rule at all takes anything; any other rule may ask for a text.
		return members != nil && !slices.ContainsFunc([]string{"anyOf", "oneOf", "allOf", "$ref", "enum", "const", "if",
			"not", "pattern", "format", "minLength", "maxLength", "contentMediaType"}, func(rule string) bool {
			_, has := members[rule]
			return has
		})
	}
	var one string
	var several []string
	switch {
	case json.Unmarshal(text, &one) == nil:
		return one != "string"
	case json.Unmarshal(text, &several) == nil:
		return !slices.Contains(several, "string")
	}
	return false
}

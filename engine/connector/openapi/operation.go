package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// bodyParam is the parameter that is the body.
const bodyParam = "body"

// operation is one operation of the description.
type operation struct {
	connector.Operation
	method string // the http connector's operation
	base   string
	path   string
	fields map[string]field
	// body is the http connector's parameter that the body becomes, empty for none.
	body string
}

// field is a parameter, and where it goes.
type field struct {
	name, in string
	required bool
	// joined says that the items of a list stand in one value, with commas between.
	joined bool
}

var placeholders = regexp.MustCompile(`\{([^{}]+)\}`)

// unset are headers of the message itself, such as its media type and its sender: no parameters.
var unset = []string{"accept", "content-type", "authorization"}

// fieldOf is a parameter with its schema. One without a name is left out, since nothing has to be given.
func fieldOf(ref *openapi3.ParameterRef, shapes *shapes) (field, map[string]any, error) {
	if ref == nil || ref.Value == nil {
		return field{}, nil, fmt.Errorf("a parameter is not described")
	}
	p := ref.Value
	f := field{name: p.Name, in: p.In, required: p.Required || p.In == openapi3.ParameterInPath}
	if p.In == openapi3.ParameterInHeader && slices.Contains(unset, strings.ToLower(p.Name)) {
		return field{}, nil, nil
	}
	if p.In == openapi3.ParameterInCookie {
		if p.Required {
			return f, nil, fmt.Errorf("it needs the cookie %s", p.Name)
		}
		return field{}, nil, nil
	}
	style := p.Style
	switch {
	case p.Content != nil, style != "" && style != "simple" && style != "form":
		return f, nil, fmt.Errorf("its parameter %s is written in a way that is not known here", p.Name)
	}
	f.joined = p.In != openapi3.ParameterInQuery || p.Explode != nil && !*p.Explode
	return f, shapes.of(p.Schema, true), nil
}

// takesBody chooses how the body is sent, and is its schema.
func (o *operation) takesBody(body *openapi3.RequestBody, shapes *shapes) (map[string]any, error) {
	if media := jsonOf(body.Content); media != nil {
		o.body = "body"
		return shapes.of(media.Schema, true), nil
	}
	if media := body.Content["application/x-www-form-urlencoded"]; media != nil {
		o.body = "form"
		return shapes.of(media.Schema, true), nil
	}
	if body.Content["text/plain"] != nil {
		o.body = "text"
		return map[string]any{"type": "string"}, nil
	}
	return nil, fmt.Errorf("its body is none of JSON, a form and text: %s",
		strings.Join(slices.Sorted(maps.Keys(body.Content)), ", "))
}

// request is what the http connector is given for a call.
func (o *operation) request(params json.RawMessage) (json.RawMessage, *eventlog.Failure) {
	given := map[string]json.RawMessage{}
	if failure := connector.DecodeParams(params, &given); failure != nil {
		return nil, failure
	}
	query, headers := map[string]any{}, map[string]string{}
	path := o.path
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		f := o.fields[name]
		value, ok := given[name]
		if !ok || string(value) == "null" {
			continue
		}
		texts, failure := f.texts(value)
		if failure != nil {
			return nil, failure
		}
		switch f.in {
		case openapi3.ParameterInPath:
			text := strings.Join(texts, ",")
			if text == "" || text == "." || text == ".." {
				return nil, connector.Failf(eventlog.Logic, "openapi.path", "%s is %q, which is no part of a path", name, text)
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case openapi3.ParameterInQuery:
			if f.joined {
				texts = []string{strings.Join(texts, ",")}
			}
			query[name] = texts
		default:
			headers[name] = strings.Join(texts, ",")
		}
	}
	if left := placeholders.FindString(path); left != "" {
		return nil, connector.Failf(eventlog.Logic, "openapi.path", "the parameter %s is missing", left)
	}
	request := map[string]any{"url": o.base + path, "query": query, "headers": headers}
	if body, ok := given[bodyParam]; ok && o.body != "" {
		request[o.body] = body
	}
	text := &bytes.Buffer{}
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return nil, connector.Failf(eventlog.Logic, connector.CodeParams, "the parameters cannot be sent: %v", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// texts are a value, or the items of a list, as they are written.
func (f field) texts(value json.RawMessage) ([]string, *eventlog.Failure) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		list = []json.RawMessage{value}
	}
	texts := []string{}
	for _, item := range list {
		var text string
		switch {
		case json.Unmarshal(item, &text) == nil:
		case len(item) > 0 && (item[0] == '{' || item[0] == '['):
			return nil, connector.Failf(eventlog.Logic, connector.CodeParams, "%s must be a value, or a list of values", f.name)
		default:
			text = string(item)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

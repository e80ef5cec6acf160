package rpc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// OpenAPI returns the OpenAPI 3.1 document of the table and of the operations beside it, for a program of the given
// version.
func OpenAPI(version string, table Table, beside []Plain, types Types) ([]byte, error) {
	b := Components{schemas: object{}, types: types}
	paths := object{}
	for _, o := range table {
		described, err := b.operation(o)
		if err != nil {
			return nil, fmt.Errorf("describe operation %s: %w", o.ID, err)
		}
		at, ok := paths[o.Path].(object)
		if !ok {
			at = object{}
			paths[o.Path] = at
		}
		at[strings.ToLower(o.Method)] = described
	}
	for _, p := range beside {
		paths[p.Path] = object{strings.ToLower(cmp.Or(p.Method, http.MethodGet)): p.described()}
	}
	document, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Pawl", "version": version,
			"license": object{"name": "Apache License 2.0", "identifier": "Apache-2.0"},
			"description": "Durable automations: workflows, their runs, events and mutations. " +
				"Every operation is also an endpoint of the NATS service `pawl`: a request to `pawl.api.<operationId>` holds one " +
				"JSON object of path, query and body fields. There `readLog` answers in pages; " +
				"with `follow` it waits a while for what is not there yet. Only `metrics` is not offered there.",
		},
		"servers": []any{object{"url": "/", "description": "The engine that answers with this document."}},
		"paths":   paths,
		"components": object{
			"schemas": b.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "The token in the file http.token of the data directory."}},
		},
		"security": []any{object{"token": []any{}}},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return append(document, '\n'), nil
}

// problems are the answers of any operation that refuses or fails.
func problems() object {
	problem := object{"description": "A problem",
		"content": object{ProblemType: object{"schema": reference("Problem")}}}
	return object{"4XX": problem, "5XX": problem}
}

// described is the operation in the document.
func (p Plain) described() object {
	responses := problems()
	responses["200"] = object{"description": "OK", "content": object{p.Media: object{}}}
	described := object{"operationId": p.ID, "summary": p.Summary, "responses": responses}
	if p.Public {
		described["security"] = []any{}
	}
	if p.Method == "" {
		return described
	}
	responses["202"] = object{"description": "Accepted", "content": object{p.Media: object{}}}
	described["requestBody"] = object{"content": object{"*/*": object{}}}
	var parameters []any
	for part := range strings.SplitSeq(p.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true,
				"schema": object{"type": "string"}})
		}
	}
	described["parameters"] = parameters
	return described
}

func (b *Components) operation(o *Operation) (object, error) {
	if _, err := b.Schema(reflect.TypeFor[Problem]()); err != nil {
		return nil, err
	}
	describe := o.DescribeAnswer
	if describe == nil {
		describe = func(c *Components) (any, error) { return c.Schema(o.Answer) }
	}
	answer, err := describe(b)
	if err != nil {
		return nil, err
	}
	content := object{"application/json": object{"schema": answer}}
	if o.Streams {
		content["text/event-stream"] = object{"schema": object{"type": "string"}}
	}
	responses := problems()
	for _, status := range o.Statuses {
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": content}
	}
	described := object{"operationId": o.ID, "summary": o.Summary, "x-pawl-role": o.Role, "responses": responses}
	if err := b.request(o, described); err != nil {
		return nil, err
	}
	return described, nil
}

func (b *Components) request(o *Operation, described object) error {
	parameters, properties, required := []any{}, object{}, []string{}
	for _, f := range o.Request.fields {
		schema, err := b.Schema(f.typ)
		if err != nil {
			return err
		}
		where := "query"
		switch f.in {
		case inBody:
			switch {
			case f.doc == "":
			case f.typ == reflect.TypeFor[json.RawMessage]() || f.typ == reflect.TypeFor[RawJSON](): // any JSON
				schema = object{"description": f.doc}
			default:
				schema = object{"allOf": []any{schema}, "description": f.doc}
			}
			properties[f.name] = schema
			if f.required {
				required = append(required, f.name)
			}
			continue
		case inPath:
			where = "path"
		case inQuery:
		}
		parameters = append(parameters, object{"name": f.name, "in": where, "required": f.required, "schema": schema,
			"description": f.doc})
	}
	if len(parameters) > 0 {
		described["parameters"] = parameters
	}
	if len(properties) == 0 {
		return nil
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	if whole := properties[o.Request.whole]; whole != nil {
		schema = object{"oneOf": []any{schema, object{"allOf": []any{whole}, "minProperties": 1}}}
	}
	var body any = schema
	if o.DescribeBody != nil {
		var err error
		if body, err = o.DescribeBody(b); err != nil {
			return err
		}
	}
	described["requestBody"] = object{"required": len(required) > 0,
		"content": object{"application/json": object{"schema": body}}}
	return nil
}

package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pawl-run/pawl/engine/connector"
)

// maxOperations bounds what one description offers.
const maxOperations = 1000

// read makes the operations of a description. An operation that cannot be called as it is described is given to
// leaveOut.
func read(text []byte, base string, leaveOut func(operation string, why error)) (all []*operation, err error) {
	loader := openapi3.NewLoader() // it reads no other file and no address
	described, err := loader.LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(described.OpenAPI, "3.") {
		return nil, fmt.Errorf("it is no OpenAPI 3 (openapi: %q); convert a Swagger description first", described.OpenAPI)
	}
	if described.Paths == nil {
		return nil, errors.New("it describes no paths")
	}
	names := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(described.Paths.Map())) {
		item := described.Paths.Value(path)
		if item == nil {
			continue
		}
		of := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(of)) {
			place := method + " " + path
			made, err := operationOf(base, method, path, item, of[method])
			if err == nil && names[made.Name] != "" {
				err = fmt.Errorf("its name %s is that of %s", made.Name, names[made.Name])
			}
			if err != nil {
				leaveOut(place, err)
				continue
			}
			if len(all) == maxOperations {
				return nil, fmt.Errorf("it has more than %d operations", maxOperations)
			}
			names[made.Name] = place
			all = append(all, made)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it describes no operation that can be called")
	}
	return all, nil
}

// methods has the http connector's operation for each method.
var methods = map[string]string{
	http.MethodGet: "get", http.MethodPost: "post", http.MethodPut: "put", http.MethodPatch: "patch",
	http.MethodDelete: "delete",
}

// letters are what the name of an operation may not hold.
var letters = regexp.MustCompile(`[^A-Za-z0-9]+`)

// operationOf makes one operation.
func operationOf(base, method, path string, item *openapi3.PathItem, o *openapi3.Operation) (*operation, error) {
	sender := methods[method]
	if sender == "" {
		return nil, fmt.Errorf("the http connector sends no %s", method)
	}
	name := letters.ReplaceAllString(o.OperationID, "_")
	if strings.Trim(name, "_") == "" {
		name = strings.ToLower(method) + strings.TrimSuffix(letters.ReplaceAllString(path, "_"), "_")
	}
	made := &operation{method: sender, base: strings.TrimSuffix(base, "/"), path: path, fields: map[string]field{}}
	made.Name, made.Kind = name, connector.Mutate
	if method == http.MethodGet {
		made.Kind = connector.List
	}
	summary := o.Summary
	if summary == "" {
		summary, _, _ = strings.Cut(strings.TrimSpace(o.Description), "\n")
	}
	made.Summary = strings.TrimSpace(method + " " + path + " " + summary)
	shapes := &shapes{}
	properties, required := map[string]any{}, []string{}
	for _, ref := range slices.Concat(item.Parameters, o.Parameters) { // those of the operation replace those of the path
		f, schema, err := fieldOf(ref, shapes)
		if err != nil {
			return nil, err
		}
		if f.name == "" {
			continue
		}
		if before, known := made.fields[f.name]; known && before.in != f.in || f.name == bodyParam {
			return nil, fmt.Errorf("two of its parameters are called %s", f.name)
		}
		made.fields[f.name] = f
		properties[f.name] = schema
		if f.required && !slices.Contains(required, f.name) {
			required = append(required, f.name)
		}
	}
	for _, place := range placeholders.FindAllStringSubmatch(path, -1) {
		if made.fields[place[1]].in != openapi3.ParameterInPath {
			return nil, fmt.Errorf("nothing is said of %s in its path", place[0])
		}
	}
	if o.RequestBody != nil && o.RequestBody.Value != nil && made.Kind == connector.Mutate {
		schema, err := made.takesBody(o.RequestBody.Value, shapes)
		if err != nil {
			return nil, err
		}
		properties[bodyParam] = schema
		if o.RequestBody.Value.Required {
			required = append(required, bodyParam)
		}
	}
	slices.Sort(required)
	var err error
	made.Schema, err = schemaText(map[string]any{"type": "object", "additionalProperties": false, "required": required,
		"properties": properties})
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	made.Result, err = schemaText(resultOf(o, shapes))
	if err != nil {
		made.Result, err = schemaText(resultOf(&openapi3.Operation{}, shapes)) // it is for editors alone
	}
	return made, err
}

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Client carries out operations; *rpc.Client is one. Errors are those of rpc.Client.Do.
type Client interface {
	Do(ctx context.Context, operation string, params, out any) error
}

// tool is one row of the table.
type tool struct {
	name, title string
	// about tells a model what the tool does, when to use it, and what comes after it.
	about string
	// kinds are the operations that the tool carries out. Where there are several, the parameter kind chooses one.
	kinds []kind
	// fixed are fields of the operation that the tool does not offer: a field has the value here, or none where that is
	// nil.
	fixed map[string]any
	// optional is a required field that may be left out, since prepare finds it.
	optional string
	// prepare completes the arguments before the operation is carried out; nil where nothing is missing.
	prepare func(ctx context.Context, client Client, arguments map[string]any) error
	// destroys says that what the tool does cannot be undone.
	destroys bool
	// without is a field of an answer, and of its items, that says again what other fields say.
	without string
	// next is the next step after an answer, empty where there is none.
	next func(arguments map[string]any, answer json.RawMessage) string
}

// kind is one of the subjects of a tool, and the operation that answers it.
type kind struct {
	name, operation string
	// within is the operation that answers it for one workflow, where that differs. The argument workflow chooses it.
	// It has the fields of operation, and workflow.
	within string
}

// workflowField is the argument that chooses kind.within.
const workflowField = "workflow"

// all are the operations of the kind.
func (k kind) all() []string {
	if k.within == "" {
		return []string{k.operation}
	}
	return []string{k.operation, k.within}
}

// kindField is the parameter that chooses among the kinds of a tool.
const kindField = "kind"

// covered reports whether a role may carry out what the tool does.
func (t *tool) covered(role rpc.Role) bool {
	return !slices.ContainsFunc(t.kinds, func(k kind) bool {
		return slices.ContainsFunc(k.all(), func(id string) bool {
			o, _ := ops.Lookup(id)
			return !role.Covers(o.Role)
		})
	})
}

// fields lists the fields of a kind that the tool offers.
func (t *tool) fields(k kind) ([]rpc.Field, error) {
	var all []rpc.Field
	for _, id := range k.all() {
		o, ok := ops.Lookup(id)
		if !ok {
			return nil, fmt.Errorf("tool %s: there is no operation %s", t.name, id)
		}
		fields, err := o.Request.Fields()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		for _, f := range fields {
			if f.Name == t.optional || k.within != "" && f.Name == workflowField {
				f.Required = false
			}
			_, fixed := t.fixed[f.Name]
			if !fixed && !slices.ContainsFunc(all, func(known rpc.Field) bool { return known.Name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// describe is the tool as a client sees it: its parameters are the fields of its operations.
func (t *tool) describe() (*mcp.Tool, error) {
	properties, required, reads := map[string]any{}, map[string]int{}, true
	var kinds []string
	for _, k := range t.kinds {
		fields, err := t.fields(k)
		if err != nil {
			return nil, err
		}
		o, _ := ops.Lookup(k.operation)
		reads = reads && o.Role == rpc.Viewer
		kinds = append(kinds, k.name)
		for _, f := range fields {
			properties[f.Name] = f.Schema
			if f.Required {
				required[f.Name]++
			}
		}
	}
	needed := []string{}
	if len(kinds) > 1 {
		properties[kindField] = map[string]any{"type": "string", "enum": kinds, "description": "what is asked for"}
		needed = append(needed, kindField)
	}
	for name, times := range required {
		if times == len(t.kinds) {
			needed = append(needed, name)
		}
	}
	slices.Sort(needed)
	no := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about,
		InputSchema: map[string]any{"type": "object", "properties": properties, "required": needed,
			"additionalProperties": false},
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: reads, DestructiveHint: &t.destroys,
			OpenWorldHint: &no},
	}, nil
}

// choose takes the kind out of the arguments and finds its operation. It refuses arguments that the operation does not
// have: an argument that is ignored must not look as if it had an effect.
func (t *tool) choose(arguments map[string]any) (operation string, wrong *mcp.CallToolResult) {
	chosen := t.kinds[0]
	if len(t.kinds) > 1 {
		name, _ := arguments[kindField].(string)
		delete(arguments, kindField)
		i := slices.IndexFunc(t.kinds, func(k kind) bool { return k.name == name })
		if i < 0 {
			var names []string
			for _, k := range t.kinds {
				names = append(names, k.name)
			}
			return "", misused(fmt.Sprintf("kind is %q", name), "call "+t.name+" with kind "+strings.Join(names, ", "))
		}
		chosen = t.kinds[i]
	}
	fields, err := t.fields(chosen)
	if err != nil {
		return "", misused(err.Error(), "report this as a bug of pawl")
	}
	var known []string
	for _, f := range fields {
		known = append(known, f.Name)
		if _, ok := arguments[f.Name]; f.Required && !ok {
			return "", misused(f.Name+" is missing", "call "+t.name+" again with "+f.Name)
		}
	}
	for name := range arguments {
		if !slices.Contains(known, name) {
			return "", misused("there is no parameter "+name+" here", "known parameters: "+strings.Join(known, ", "))
		}
	}
	if arguments[workflowField] != nil && chosen.within != "" {
		return chosen.within, nil
	}
	return chosen.operation, nil
}

// answered is the answer of an operation, with the warning about its texts and the next step after it.
func (t *tool) answered(arguments map[string]any, answer json.RawMessage) *mcp.CallToolResult {
	answer = visible(answer)
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)},
		&mcp.TextContent{Text: outside}}}
	if len(answer) > 0 && answer[0] == '{' {
		result.StructuredContent = answer
	}
	if t.next != nil {
		if step := t.next(arguments, answer); step != "" {
			result.Content = append(result.Content, &mcp.TextContent{Text: "Next: " + step})
		}
	}
	return result
}

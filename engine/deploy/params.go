package deploy

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/sandbox"
)

// maxFound ends the search for more wrong parameters: no author reads more.
const maxFound = 200

// calls names calls whose parameters, as they are written, cannot fit the operation's schema: the call
// would end the run in the same words. Mistakes that the text does not show are left to the call. They are
// warnings: the call itself is the judge, and nothing has left when it refuses.
func (c *check) calls() {
	schemas := make(map[string]*connector.ParamSchema)
	for i := range c.in.Definition.Calls {
		call := &c.in.Definition.Calls[i]
		pin, ok := c.accepted.Operation(call.Connector, call.Operation)
		if !ok {
			continue
		}
		schema := schemas[pin.Capability()]
		if schema == nil {
			text := json.RawMessage(pin.Schema)
			if c.in.Repair {
				// The pin is older, and a call is held against what its tool says when it is made.
				text = c.now(call)
			}
			schema = connector.ReadParamSchema(call.Connector, call.Operation, text)
			schemas[pin.Capability()] = schema
		}
		if len(c.found) > maxFound {
			return
		}
		c.stringified(call, pin.Schema)
		params := partial(&call.Params)
		wrong := schema.Violations(&params)
		if judge, ok := c.in.Catalog.(judge); ok {
			wrong = append(wrong, judge.Judge(call.Connector, call.Operation, &params)...)
		}
		for _, m := range wrong {
			c.add(sandbox.SeverityWarning, cmp.Or(m.Code, connector.CodeParams), m.Fix, "%s", m.Message)
			c.at(part(&call.Params, m.Where).Place)
			if m.Fix == "" {
				c.hint(hint.Connector, call.Connector)
			}
		}
	}
}

// judge is a catalog that asks connectors about parameters, as far as a script shows them; see connector.Judge.
type judge interface {
	Judge(name, operation string, params *connector.Partial) []connector.Violation
}

// now is the schema of the operation as its tool gives it, or none: of one that is away nothing is known.
func (c *check) now(call *sandbox.WrittenCall) json.RawMessage {
	if c.in.Catalog == nil {
		return nil
	}
	op, _ := c.in.Catalog.Operation(call.Connector, call.Operation)
	return op.Schema
}

// partial is what a written value is for a schema.
func partial(w *sandbox.Written) connector.Partial {
	p := connector.Partial{Kind: string(w.Kind), Value: w.Value, Open: w.Open, Prefix: w.Prefix}
	for i := range w.Members {
		p.Members = append(p.Members, connector.PartialMember{Name: w.Members[i].Name, Value: partial(&w.Members[i].Value)})
	}
	for i := range w.Items {
		p.Items = append(p.Items, partial(&w.Items[i]))
	}
	return p
}

// part follows a location into a written value.
func part(w *sandbox.Written, where []string) *sandbox.Written {
	for _, name := range where {
		if i, err := strconv.Atoi(name); err == nil && w.Kind == sandbox.WrittenArray && i < len(w.Items) {
			w = &w.Items[i]
			continue
		}
		for i := range w.Members {
			if w.Members[i].Name == name {
				w = &w.Members[i].Value
				break
			}
		}
	}
	return w
}

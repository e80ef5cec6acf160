package deploy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// maxFound ends the search for more wrong parameters: no author reads more.
const maxFound = 200

// calls names calls whose parameters, as they are written, cannot fit the operation's schema: the call
// would end the run in the same words. Mistakes that the text does not show are left to the call.
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
				// The pin is older: a call is checked against what its tool says when the call is made.
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
		severity := sandbox.SeverityError
		if c.in.Repair {
			severity = sandbox.SeverityWarning // the tool may take them again when the call is made
		}
		for _, m := range schema.Violations(&params) {
			c.violation(call, m, severity)
		}
		if judge, ok := c.in.Catalog.(judge); ok {
			for _, m := range judge.Judge(call.Connector, call.Operation, &params) {
				c.violation(call, m, sandbox.SeverityWarning) // what is configured may change
			}
			for _, s := range judge.WrittenSecrets(call.Connector, &params) {
				c.secretOfCall(call, s)
			}
		}
	}
}

// violation says what is wrong with parameters.
func (c *check) violation(call *sandbox.WrittenCall, m connector.Violation, severity string) {
	if m.Perhaps {
		severity = sandbox.SeverityWarning
	}
	c.add(severity, cmp.Or(m.Code, connector.CodeParams), m.Fix, "%s", m.Message)
	at := part(&call.Params, m.Where).Place
	c.at(at)
	switch renamed := slices.Concat(m.Where, []string{m.Rename}); {
	case m.Rename != "" && len(m.Where) > 0 && m.Where[len(m.Where)-1] == m.Rename:
		c.edit(c.amend().Rename(at, m.Rename, m.To))
	case m.Rename != "":
		c.edit(c.amend().Rename(part(&call.Params, renamed).Place, m.Rename, m.To))
	case m.Drop && handed(&call.Params, m.Where):
	case m.Drop:
		c.edit(c.amend().Drop(at))
	case m.Write != "":
		if value := c.amend().Value(at); value != (sandbox.Place{}) {
			c.edit(c.amend().Replace(value, m.Write))
		}
	}
	if m.Fix == "" {
		c.hint(hint.Connector, call.Connector)
	}
}

// handed reports whether prepare has returned the value that a part belongs to: others may use the part.
func handed(w *sandbox.Written, where []string) bool {
	for i := range where {
		if part(w, where[:i]).Handed {
			return true
		}
	}
	return false
}

// judge is a catalog that asks connectors about parameters, as far as a script shows them; see connector.Judge.
type judge interface {
	Judge(name, operation string, params *connector.Partial) []connector.Violation
	WrittenSecrets(name string, params *connector.Partial) []connector.WrittenSecret
}

// secretOfCall warns of a configured secret that the call carries and the workflow is not granted.
func (c *check) secretOfCall(call *sandbox.WrittenCall, s connector.WrittenSecret) {
	if c.in.UnknownConnector != "" || !slices.Contains(c.in.Secrets, s.Name) ||
		capability.SecretGranted(c.in.Grants, s.Name) {
		return
	}
	c.warn(CodeSecretGrant, "", "%s.%s carries the secret %s, which the workflow is not granted; until it is, the call "+
		"fails", call.Connector, call.Operation, eventlog.ClipName(s.Name))
	c.at(part(&call.Params, s.Where).Place)
	c.hint(hint.GrantSecret, eventlog.ClipName(c.in.Definition.Name), eventlog.SecretCapability(eventlog.ClipName(s.Name)))
}

// now is the schema of the operation as its tool gives it, or none: of one that is away nothing is known.
func (c *check) now(call *sandbox.WrittenCall) json.RawMessage {
	if c.in.Catalog == nil {
		return nil
	}
	op, _ := c.in.Catalog.Operation(call.Connector, call.Operation)
	return op.Schema
}

// partial is what a schema is asked about a written value.
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

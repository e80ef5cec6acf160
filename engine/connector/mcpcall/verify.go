package mcpcall

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// ReconcilesCall implements connector.CallReconciler.
func (c *Connector) ReconcilesCall(call connector.Call) bool {
	return c.config.Tools[c.tool(call.Operation)].Verify != nil
}

// Reconcile asks the tool of the configuration what became of a call. It sends nothing of the call.
func (c *Connector) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	rules := c.config.Tools[c.tool(call.Operation)].Verify
	unknown := func(format string, args ...any) connector.Reconciliation {
		return connector.RetryWith(c.secret.Failure(connector.Failf(eventlog.Transient, "mcp.verify", format, args...)))
	}
	if rules == nil {
		return unknown("%s.%s is configured without verify", call.Connector, call.Operation)
	}
	given := map[string]any{}
	if err := json.Unmarshal(call.Params, &given); err != nil {
		return unknown("the parameters of %s.%s are no object", call.Connector, call.Operation)
	}
	given["idempotencyKey"] = call.Key
	arguments, err := json.Marshal(filled(rules.Arguments, given))
	if err != nil {
		return unknown("the arguments of %s cannot be made: %v", rules.Tool, err)
	}
	answer, err := c.server.ask(ctx, params(rules.Tool, arguments))
	if err != nil {
		return unknown("%s did not answer: %v", rules.Tool, err)
	}
	text, err := result(answer)
	if err != nil {
		return unknown("%s answered what cannot be read: %v", rules.Tool, err)
	}
	var found any
	if err := json.Unmarshal(text, &found); err != nil {
		return unknown("%s answered what cannot be read: %v", rules.Tool, err)
	}
	switch {
	case rules.Applied.fits(answer.IsError, found, given):
		blanked, _ := c.secret.Bytes(text)
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: blanked}
	case rules.Failed.fits(answer.IsError, found, given):
		return connector.Reconciliation{Verdict: connector.VerdictFailed, Failure: connector.Failf(eventlog.Transient,
			connector.CodeNotApplied, "%s says that %s.%s did not take effect", rules.Tool, call.Connector, call.Operation)}
	}
	return unknown("what %s answers says neither applied nor failed", rules.Tool)
}

// fits reports whether an answer is the one that is meant.
func (m Match) fits(failed bool, found any, given map[string]any) bool {
	if m.empty() || m.Error != failed {
		return false
	}
	for path, want := range m.Result {
		at := found
		for name := range strings.SplitSeq(path, ".") {
			object, _ := at.(map[string]any)
			at = object[name]
		}
		got, err := json.Marshal(at)
		wanted, wrong := json.Marshal(filled(want, given))
		if at == nil || err != nil || wrong != nil || string(got) != string(wanted) {
			return false
		}
	}
	return true
}

// placeholder is {name} in a text of the configuration.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// filled puts the values in. A text that is a placeholder alone becomes the value, whatever that is.
func filled(value any, given map[string]any) any {
	switch value := value.(type) {
	case string:
		if whole := placeholder.FindStringSubmatch(value); whole != nil && whole[0] == value {
			return given[whole[1]]
		}
		return placeholder.ReplaceAllStringFunc(value, func(found string) string {
			return fmt.Sprint(given[found[1:len(found)-1]])
		})
	case map[string]any:
		made := map[string]any{}
		for name, member := range value {
			made[name] = filled(member, given)
		}
		return made
	case []any:
		made := make([]any, len(value))
		for i, item := range value {
			made[i] = filled(item, given)
		}
		return made
	}
	return value
}

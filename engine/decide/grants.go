package decide

import (
	"maps"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// CodeDenied is the code of a call that the workflow's grants do not allow.
const CodeDenied = "grant.denied"

// Granted resolves a capability: the most specific of `connector.operation`, `connector.*` and `*`
// wins; without any, reads are allowed and mutations ask. Only a mutation can wait for an answer
// (O5), so a pattern's "ask" lets reads through, and an "ask" for exactly this read denies it:
// nobody would ever be asked. An unknown grant denies.
func Granted(grants map[string]eventlog.Grant, connector, operation string, mutates bool) eventlog.Grant {
	exact := connector + "." + operation
	for _, pattern := range []string{exact, connector + ".*", "*"} {
		switch g, ok := grants[pattern]; {
		case !ok:
		case g == eventlog.GrantAllow:
			return g
		case g == eventlog.GrantAsk && mutates:
			return g
		case g == eventlog.GrantAsk && pattern != exact:
			return eventlog.GrantAllow
		default:
			return eventlog.GrantDeny
		}
	}
	if mutates {
		return eventlog.GrantAsk
	}
	return eventlog.GrantAllow
}

// grants are those that the deploy leaves the workflow with. What a person decided stays, patterns
// included; a new operation that no entry covers is allowed if it reads and asks if it mutates, see
// Granted. An operation that used to read and mutates now asks again, if it was allowed by its own
// entry: that allowed a read.
func (c Deploy) grants(s *projections.State) map[string]eventlog.Grant {
	if c.Grants != nil {
		return c.Grants
	}
	grants := maps.Clone(s.Grants)
	if s.Version == "" && c.GrantUsed {
		// Each by an entry of its own, so that an operation added later is not covered.
		grants = make(map[string]eventlog.Grant, len(c.Definition.Operations))
		for _, op := range c.Definition.Operations {
			grants[op.Capability()] = eventlog.GrantAllow
		}
	}
	for _, op := range c.Definition.Operations {
		before, known := s.Definition().Operation(op.Connector, op.Operation)
		if known && before.Kind != kindMutate && op.Kind == kindMutate && grants[op.Capability()] == eventlog.GrantAllow {
			grants[op.Capability()] = eventlog.GrantAsk
		}
	}
	return grants
}

// kindMutate is the kind of a pinned operation that changes something outside.
const kindMutate = "mutate"

package decide

import (
	"maps"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// grants are those that the deploy leaves the workflow with. What a person decided stays, patterns
// included; a new operation that no entry covers is allowed if it reads and asks if it mutates, see
// capability.Granted. An operation that used to read and mutates now asks again, if it was allowed by its own
// entry: that allowed a read.
func (c Deploy) grants(s *projections.State) map[string]eventlog.Grant {
	if c.Grants != nil {
		return c.Grants
	}
	grants := maps.Clone(s.Grants)
	if s.Version == "" && len(s.Grants) == 0 && c.GrantUsed {
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

package builtin

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
)

// Missing returns one warning for each built-in connector that a workflow's script calls and that is not configured. It
// happens when a workflow was deployed to an engine with another configuration.
func Missing(configured *connector.Registry, workflows []projections.State) []string {
	var all []string
	for _, s := range workflows {
		if s.Archived {
			continue
		}
		said := map[string]bool{}
		for _, op := range s.Definition().Operations {
			advice, ours := Advice(op.Connector)
			if _, there := configured.Connector(op.Connector); !ours || there || said[op.Connector] {
				continue
			}
			said[op.Connector] = true
			all = append(all, fmt.Sprintf("workflow %s calls %s, but connector %s is not configured, so these calls fail: %s, "+
				"and start the engine again", s.Name, op.Capability(), op.Connector, advice))
		}
	}
	return all
}

// AdviseConfigured adds advice to the problems with connectors that this binary has and that are not configured. A
// problem belongs to the use at the same place in the script.
func AdviseConfigured(problems []sandbox.Problem, uses []sandbox.OperationUse) []sandbox.Problem {
	problems = slices.Clone(problems)
	for i, p := range problems {
		if p.Code != deploy.CodeConnector {
			continue
		}
		for _, use := range uses {
			if fix, ok := Advice(use.Connector); ok && use.Line == p.Line && use.Column == p.Column {
				problems[i].Message = fmt.Sprintf("connector %s is not configured (%s.%s)", use.Connector, use.Connector,
					use.Operation)
				problems[i].Fix = fix
			}
		}
	}
	return problems
}

// AdviseListening is for an engine to which no tool can connect. To the problems with connectors that this binary does
// not have it adds how a tool could bring them: to wait for one would be in vain.
func AdviseListening(problems []sandbox.Problem, uses []sandbox.OperationUse) []sandbox.Problem {
	problems = slices.Clone(problems)
	for i, p := range problems {
		if p.Code != deploy.CodeConnector {
			continue
		}
		for _, use := range uses {
			_, ours := Advice(use.Connector)
			meant := connector.ValidateName(use.Connector) == nil && lint.Advise(use.Connector) == ""
			if ours || !meant || use.Line != p.Line || use.Column != p.Column {
				continue
			}
			problems[i].Message += "; without --nats-listen no tool can connect and bring it"
			problems[i].Fix += "; for a tool on NATS start again with --nats-listen 127.0.0.1:4222"
		}
	}
	return problems
}

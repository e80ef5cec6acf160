package deploy

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
)

// Input is everything a check may know.
type Input struct {
	Definition sandbox.Definition
	// Found are the problems that reading the definition came upon; they are answered with the others.
	Found []sandbox.Problem
	// Catalog answers which operations there are; nil means none.
	Catalog Catalog
	// UnknownConnector is the severity of a connector that the Catalog lacks: empty means
	// sandbox.SeverityError. A validation without an engine knows the compiled-in connectors only
	// and passes sandbox.SeverityWarning; such operations are then not pinned.
	UnknownConnector string
	// Secrets are the names of those that are configured.
	Secrets []string
	// Grants are those that the workflow will have.
	Grants map[string]eventlog.Grant
	// Previous is what the workflow has and holds now; nil for a new one.
	Previous *Previous
	// Repair asks for a minor version, which may change less (F9). It needs Previous.
	Repair bool
	// Handlers and Topics are the most that a workflow may have; 0 means those of schedule.Default.
	Handlers, Topics int
}

// Accepted is what a deploy records.
type Accepted struct {
	Name       eventlog.WorkflowName
	Definition eventlog.Definition
}

// Check decides on a definition. Accepted is the zero value when [Refused] holds for the problems;
// beside warnings it is complete. Problems are in the order of the author's lines; those without a
// line come first. Of an incomplete definition nothing is said that would only follow from what is
// missing.
func Check(in Input) (Accepted, []sandbox.Problem) {
	c := check{in: in, findings: findings{found: slices.Clone(in.Found)}}
	if d := &in.Definition; c.tooMany() ||
		len(d.Unread) == 0 && (d.Incomplete || d.Name == "" && Refused(in.Found)) {
		c.sort()
		return Accepted{}, c.found
	}
	c.workflow()
	c.topics()
	for _, p := range in.Definition.Producers {
		c.producer(p)
	}
	for _, consumer := range in.Definition.Consumers {
		c.consumer(consumer)
	}
	for _, h := range in.Definition.Hooks {
		c.hook(h)
	}
	c.duplicates()
	c.subscriptions()
	c.unusedTopics()
	c.operations()
	c.mutates()
	c.calls()
	c.redeploy()
	c.found = lint.First(c.found)
	c.sort()
	if Refused(c.found) {
		return Accepted{}, c.found
	}
	return Accepted{Name: eventlog.WorkflowName(in.Definition.Name), Definition: c.accepted}, c.found
}

// check collects the accepted definition and the problems that speak against it.
type check struct {
	in       Input
	accepted eventlog.Definition
	findings
}

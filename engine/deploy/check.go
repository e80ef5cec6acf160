package deploy

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
)

// Check decides on a definition. Accepted is the zero value when [Refused] holds for the problems;
// where there are only warnings it is complete. Problems are in the order of the author's lines; those without a line
// come first. Of an incomplete definition nothing is said that would only follow from what is missing.
func Check(in Input) (Accepted, []Problem) {
	c := check{in: in, findings: findings{found: slices.Clone(in.Found)}}
	if d := &in.Definition; c.tooMany() ||
		len(d.Unread) == 0 && (d.Incomplete || d.Name == "" && sandbox.HasErrors(in.Found)) {
		c.sort()
		c.mend()
		return Accepted{}, c.problems()
	}
	c.workflow()
	c.topics()
	for _, p := range in.Definition.Producers {
		c.producer(p)
	}
	for _, consumer := range in.Definition.Consumers {
		c.consumer(consumer)
	}
	c.deadLetterLoops()
	for _, h := range in.Definition.Hooks {
		c.hook(h)
	}
	c.duplicates()
	c.subscriptions()
	c.unusedTopics()
	c.operations()
	c.mutates()
	c.calls()
	c.results()
	c.redeploy()
	c.found = finding.First(c.found)
	c.sort()
	c.mend()
	if sandbox.HasErrors(c.found) {
		return Accepted{}, c.problems()
	}
	return Accepted{Name: eventlog.WorkflowName(in.Definition.Name), Definition: c.accepted}, c.problems()
}

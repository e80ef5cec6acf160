package deploy

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/amend"
)

// Input is everything a check may know.
type Input struct {
	Definition sandbox.Definition
	// Source is the text of the script, in which fixes are made; without it problems come without edits.
	Source string
	// Found are the problems that were found while the definition was read; they are returned with the others.
	Found []sandbox.Problem
	// Catalog answers which operations there are; nil means none.
	Catalog Catalog
	// UnknownConnector is the severity of a connector that the Catalog lacks: empty means
	// sandbox.SeverityError. A validation without an engine knows the compiled-in connectors only
	// and passes sandbox.SeverityWarning; such operations are then not pinned.
	UnknownConnector string
	// Secrets are the names of the configured secrets.
	Secrets []string
	// Vars are the names of the plain settings that are configured.
	Vars []string
	// Grants are those that the workflow will have.
	Grants map[string]eventlog.Grant
	// Previous is what the workflow has and holds now; nil for a new one.
	Previous *Previous
	// Repair asks for a minor version, which may change less (F9). It needs Previous.
	Repair bool
	// Handlers and Topics are the most that a workflow may have; 0 means those of schedule.Default.
	Handlers, Topics int
}

// Previous is what a workflow has and holds when a new version is checked.
type Previous struct {
	Name       eventlog.WorkflowName
	Version    eventlog.Version
	Definition eventlog.Definition
	// State is what O9 is checked on; nil leaves that check out.
	State *projections.State
	// Pending counts the pending events of a topic.
	Pending map[eventlog.Topic]int
	// Stateful are the handlers that have saved a state.
	Stateful []eventlog.Handler
}

// Accepted is what a deploy records.
type Accepted struct {
	Name       eventlog.WorkflowName
	Definition eventlog.Definition
}

// check collects the accepted definition and the problems that speak against it.
type check struct {
	in       Input
	accepted eventlog.Definition
	source   *amend.Source
	findings
}

// amend is the text of the script, in which fixes are made.
func (c *check) amend() *amend.Source {
	if c.source == nil {
		c.source = amend.Read(c.in.Source)
	}
	return c.source
}

// place is where a member of the definition is written.
func (c *check) place(path ...string) sandbox.Place { return c.in.Definition.Place(path...) }

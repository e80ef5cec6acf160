package replay

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// recentRuns is how many runs a [Then] has.
const recentRuns = 20

// Glimpse is the answer for a revision: the workflow as it was, or how far the fold has come.
type Glimpse struct {
	Revision uint64 `json:"revision" jsonschema:"the revision that was asked for"`
	Reached  uint64 `json:"reached" jsonschema:"how far the fold has come; while then is null, ask again"`
	Then     *Then  `json:"then" jsonschema:"the workflow as it was, null while the fold has not come that far"`
}

// Then is a workflow at a revision.
type Then struct {
	At       eventlog.Instant          `json:"at" jsonschema:"when the revision was recorded"`
	Workflow readmodel.Workflow        `json:"workflow"`
	Grants   map[string]eventlog.Grant `json:"grants"`
	Handlers []readmodel.Handler       `json:"handlers"`
	Runs     []readmodel.Run           `json:"runs" jsonschema:"the newest runs of then, at most 20"`
}

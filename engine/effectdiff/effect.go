package effectdiff

import (
	"encoding/json"

	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
)

// Kind says how the effect of a run differs.
type Kind string

// The kinds of differences.
const (
	Same    Kind = "same"
	New     Kind = "new"     // only the new script makes a call
	Gone    Kind = "gone"    // only the old one does
	Changed Kind = "changed" // the calls differ, the events that prepare chooses, or what is published or returned
	Fails   Kind = "fails"   // the new script fails where the old one does not
	// NotReplayed: what one of them asks for was not recorded, or the old one fails too.
	NotReplayed Kind = "notReplayed"
)

// Call is a change that a script names.
type Call struct {
	Operation string          `json:"operation"`
	Params    json.RawMessage `json:"params"`
	Title     string          `json:"title,omitempty"`
	// Asks says that the script wants a person to approve the call, whatever is granted.
	Asks bool `json:"asks,omitempty"`
}

// Effect is what became of one run under both scripts.
type Effect struct {
	Run     eventlog.RunID          `json:"run"`
	Version eventlog.Version        `json:"version" jsonschema:"the version that ran then"`
	Handler eventlog.Handler        `json:"handler"`
	Kind    Kind                    `json:"kind" jsonschema:"same, new, gone, changed, fails or notReplayed"`
	Before  *Call                   `json:"before,omitempty" jsonschema:"the call of the version that runs now"`
	After   *Call                   `json:"after,omitempty" jsonschema:"the call of the new script"`
	Fields  []difference.Difference `json:"fields,omitempty" jsonschema:"the parameters in which the calls differ; (reserved) and (cancelled) are the events that prepare chooses, (published), (inputs) and (state) what next or a producer leaves"`
	Error   string                  `json:"error,omitempty" jsonschema:"why it fails, or could not be replayed"`
	Line    int                     `json:"line,omitempty" jsonschema:"the line of the script that fails"`
	// NextUnknown says that next was not compared: the answer to one of the calls is not known, or both fail.
	NextUnknown bool `json:"nextUnknown,omitempty" jsonschema:"next was not compared: the answer to its call is not known, or both fail"`
}

package sandbox

import (
	"encoding/json"
	"maps"
	"slices"
)

// VarsMember is the member of ctx that holds the plain settings of the configuration: ctx.vars.NAME.
const VarsMember = "vars"

// Vars are the plain settings of a configuration by name, each as JSON. They are no secrets: a script may write them
// into parameters, results and logs.
type Vars map[string]json.RawMessage

// Names lists the names of all settings, sorted.
func (v Vars) Names() []string { return slices.Sorted(maps.Keys(v)) }

package config

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// maxVars bounds the plain settings, as JSON: they go into each call of a handler.
const maxVars = 64 << 10

// maxExact is the largest whole number that a script holds exactly.
const maxExact = 1<<53 - 1

// vars are the plain settings that scripts read as ctx.vars, by name.
type vars map[string]any

// validate refuses names that no script can read, secrets, and values that would change on their way into a script.
func (v vars) validate(written *configText) error {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := written.place("vars." + name)
		if err := eventlog.ValidateConnectorName(name); err != nil {
			return exit.Misconfigured("write e.g. baseUrl", "%s: vars: the name %v", at, err)
		}
		if fault, hint := varFault(v[name]); fault != "" {
			return exit.Misconfigured(hint, "%s: vars.%s %s", at, name, fault)
		}
		text, err := json.Marshal(v[name])
		if err != nil {
			return exit.Misconfigured("write text, numbers, true, false, lists and keys with values",
				"%s: vars.%s cannot be given to scripts: %v", at, name, err)
		}
		size += len(name) + len(text)
	}
	if size > maxVars {
		return exit.Misconfigured("keep large tables in a file and read it with the files connector",
			"%s: the vars have %s; at most %s go into each call of a handler", written.place("vars"), schedule.Size(size),
			schedule.Size(maxVars))
	}
	return nil
}

// varFault says what is wrong with a value, and what to do; empty if it can be given to scripts as it is.
func varFault(value any) (fault, hint string) {
	number := func(isExact bool) (string, string) {
		if isExact {
			return "", ""
		}
		return "holds a number that a script cannot hold exactly", "put it in quotes: it is then text"
	}
	switch value := value.(type) {
	case string:
		if strings.Contains(value, "${env:") || strings.Contains(value, "${file:") {
			return "refers to a secret, and scripts read vars as plain text",
				"write it under secrets and name it in a parameter that takes one, as secret of http does"
		}
	case int64:
		return number(-maxExact <= value && value <= maxExact)
	case uint64:
		return number(value <= maxExact)
	case float64:
		return number(!math.IsInf(value, 0) && !math.IsNaN(value))
	case []any:
		for _, item := range value {
			if fault, hint = varFault(item); fault != "" {
				return fault, hint
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if fault, hint = varFault(value[name]); fault != "" {
				return fault, hint
			}
		}
	}
	return "", ""
}

// asJSON are the settings as scripts get them. A key without a value counts as not set.
func (v vars) asJSON() sandbox.Vars {
	all := make(sandbox.Vars, len(v))
	for name, value := range v {
		if value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic("unreachable: validate has written it already: " + err.Error())
		}
		all[name] = text
	}
	return all
}

// ScriptVars are the plain settings as scripts get them.
func (c *File) ScriptVars() sandbox.Vars { return c.Vars.asJSON() }

package client

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// Grants are a workflow's grants, and what they mean for each operation that it uses.
type Grants struct {
	Grants     map[string]eventlog.Grant
	Operations []grantedOperation
}

type grantedOperation struct {
	Capability, Kind string
	Grant            eventlog.Grant
}

// Unused are the grants that concern no operation of the script: misspelt, or for a version to come.
func (g Grants) Unused() []string {
	var list []string
	for _, capability := range slices.Sorted(maps.Keys(g.Grants)) {
		operation, _, _ := strings.Cut(capability, "@")
		connector, all := strings.CutSuffix(operation, ".*")
		if capability != "*" && !slices.ContainsFunc(g.Operations, func(o grantedOperation) bool {
			return o.Capability == operation || all && strings.HasPrefix(o.Capability, connector+".")
		}) {
			list = append(list, capability)
		}
	}
	return list
}

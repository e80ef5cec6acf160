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

// Unused are the grants that concern no operation of the script: they are misspelt, or for a version to come. Grants of
// secrets are not among them: only a call itself shows which secret it names.
func (g Grants) Unused() []string {
	var list []string
	for _, capability := range slices.Sorted(maps.Keys(g.Grants)) {
		operation, _, _ := strings.Cut(capability, "@")
		connector, all := strings.CutSuffix(operation, ".*")
		if _, secret := eventlog.SecretOf(capability); secret || capability == "*" {
			continue
		}
		if !slices.ContainsFunc(g.Operations, func(o grantedOperation) bool {
			return o.Capability == operation || all && strings.HasPrefix(o.Capability, connector+".")
		}) {
			list = append(list, capability)
		}
	}
	return list
}

// Uses reports whether the capability is listed among the operations that the script is known to use.
func (g Grants) Uses(capability string) bool {
	return slices.ContainsFunc(g.Operations, func(o grantedOperation) bool { return o.Capability == capability })
}

package deploy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// everything is the pattern that matches every capability.
const everything = "*"

// ResolveGrant says what a workflow may do with an operation of the kind, by the rule of
// [decide.Granted]. An unknown kind is denied.
func ResolveGrant(grants map[string]eventlog.Grant, kind, connectorName, operation string) eventlog.Grant {
	switch connector.Kind(kind) {
	case connector.List, connector.Get:
		return decide.Granted(grants, connectorName, operation, false)
	case connector.Mutate:
		return decide.Granted(grants, connectorName, operation, true)
	}
	return eventlog.GrantDeny
}

// GrantsHint says how grants are written.
const GrantsHint = `write {"connector.operation": "allow" | "ask" | "deny"}; connector.* and * are patterns`

// ValidateGrants reports every entry that cannot be meant: a malformed pattern, an unknown grant,
// or an "ask" for exactly one operation that the definition pins as a read. A pattern of an
// operation that the definition does not have is fine.
func ValidateGrants(grants map[string]eventlog.Grant, definition *eventlog.Definition) error {
	var found []error
	for _, pattern := range slices.Sorted(maps.Keys(grants)) {
		if err := validatePattern(pattern); err != nil {
			found = append(found, err)
			continue
		}
		switch grants[pattern] {
		case eventlog.GrantAllow, eventlog.GrantDeny:
		case eventlog.GrantAsk:
			connectorName, operation, _ := strings.Cut(pattern, ".")
			if pin, ok := definition.Operation(connectorName, operation); ok && connector.Kind(pin.Kind) != connector.Mutate {
				found = append(found, fmt.Errorf("grant %q: %s only reads and cannot ask; write allow or deny", pattern, pattern))
			}
		default:
			found = append(found, fmt.Errorf("grant %q is %q; write allow, ask or deny", pattern, clip(string(grants[pattern]))))
		}
	}
	return errors.Join(found...)
}

func validatePattern(pattern string) error {
	if pattern == everything {
		return nil
	}
	connectorName, operation, dotted := strings.Cut(pattern, ".")
	if !dotted || eventlog.ValidateConnectorName(connectorName) != nil ||
		operation != everything && eventlog.ValidateConnectorName(operation) != nil {
		return fmt.Errorf("grant %q is no capability; write connector.operation, connector.* or *", clip(pattern))
	}
	return nil
}

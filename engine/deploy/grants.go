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

func match(grants map[string]eventlog.Grant, connectorName, operation string) (pattern string, grant eventlog.Grant, found bool) {
	for _, pattern := range []string{connectorName + "." + operation, connectorName + ".*", everything} {
		if grant, found = grants[pattern]; found {
			return pattern, grant, true
		}
	}
	return "", "", false
}

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

// GrantAll allows every operation the definition pins, each by an entry of its own, so that an
// operation added later is not covered.
func GrantAll(definition *eventlog.Definition) map[string]eventlog.Grant {
	grants := make(map[string]eventlog.Grant, len(definition.Operations))
	for _, op := range definition.Operations {
		grants[op.Capability()] = eventlog.GrantAllow
	}
	return grants
}

// MergeGrants carries a workflow's grants over to its next definition; previous may be nil. What a
// person decided stays, patterns included. An added operation that no entry covers is allowed if it
// reads and asks if it mutates. An operation that used to read and mutates now asks again, if it
// was allowed by its own entry: that allowed a read.
func MergeGrants(grants map[string]eventlog.Grant, previous, next *eventlog.Definition) map[string]eventlog.Grant {
	merged := maps.Clone(grants)
	if merged == nil {
		merged = make(map[string]eventlog.Grant)
	}
	for _, op := range next.Operations {
		mutates := connector.Kind(op.Kind) == connector.Mutate
		pattern, grant, covered := match(grants, op.Connector, op.Operation)
		switch {
		case !covered && mutates:
			merged[op.Capability()] = eventlog.GrantAsk
		case !covered:
			merged[op.Capability()] = eventlog.GrantAllow
		case mutates && pattern == op.Capability() && grant == eventlog.GrantAllow && readBefore(previous, op):
			merged[op.Capability()] = eventlog.GrantAsk
		}
	}
	return merged
}

func readBefore(previous *eventlog.Definition, op eventlog.Operation) bool {
	if previous == nil {
		return false
	}
	pin, ok := previous.Operation(op.Connector, op.Operation)
	return ok && connector.Kind(pin.Kind) != connector.Mutate
}

package deploy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// everything is the pattern that matches every capability.
const everything = "*"

// ResolveGrant says what a workflow may do with an operation of the kind, by the rule of
// [capability.Granted]. An unknown kind is denied.
func ResolveGrant(grants map[string]eventlog.Grant, kind, connectorName, operation string) eventlog.Grant {
	switch connector.Kind(kind) {
	case connector.List, connector.Get:
		return capability.Granted(grants, connectorName, operation, false)
	case connector.Mutate:
		return capability.Granted(grants, connectorName, operation, true)
	}
	return eventlog.GrantDeny
}

// ValidateGrants reports every entry that cannot be meant: a malformed pattern, an unknown grant,
// or an "ask" for exactly one operation that the definition pins as a read. A pattern of an
// operation that the definition does not have is fine. The errors are joined, one for each entry.
func ValidateGrants(grants map[string]eventlog.Grant, definition *eventlog.Definition) error {
	var found []error
	for _, pattern := range slices.Sorted(maps.Keys(grants)) {
		if err := validatePattern(pattern); err != nil {
			found = append(found, err)
			continue
		}
		secret, isSecret := eventlog.SecretOf(pattern)
		switch grants[pattern] {
		case eventlog.GrantAllow, eventlog.GrantDeny:
			if isSecret && eventlog.ValidateConnectorName(secret) != nil {
				found = append(found, fmt.Errorf("grant %q: each secret is granted by its name, no pattern grants one, "+
					"and where it may be sent is said in the configuration", eventlog.ClipName(pattern)))
			}
		case eventlog.GrantAsk:
			if isSecret {
				found = append(found, fmt.Errorf("grant %q: a secret cannot ask; write allow or deny", eventlog.ClipName(pattern)))
				continue
			}
			capability, _, _ := strings.Cut(pattern, "@")
			connectorName, operation, _ := strings.Cut(capability, ".")
			if pin, ok := definition.Operation(connectorName, operation); ok && connector.Kind(pin.Kind) != connector.Mutate {
				found = append(found, fmt.Errorf("grant %q: %s only reads and cannot ask; write allow or deny", pattern, pattern))
			}
		default:
			found = append(found, fmt.Errorf("grant %q is %q; write allow, ask or deny", pattern,
				eventlog.ClipName(grants[pattern])))
		}
	}
	return errors.Join(found...)
}

// ValidateGranted reports every entry that names an operation which its connector does not have, with the
// nearest one that there is: nothing would ever be granted by it. An entry that stands in held, an operation that
// the definition uses and one of a connector that is not known now are fine: a tool may be away, or come later.
func ValidateGranted(grants, held map[string]eventlog.Grant, definition *eventlog.Definition, catalog Catalog) error {
	var found []error
	for _, pattern := range slices.Sorted(maps.Keys(grants)) {
		capability, _, _ := strings.Cut(pattern, "@")
		connectorName, operation, dotted := strings.Cut(capability, ".")
		if kept, ok := held[pattern]; !dotted || operation == everything || ok && kept == grants[pattern] {
			continue
		}
		if _, used := definition.Operation(connectorName, operation); used {
			continue
		}
		offered := catalog.Operations(connectorName)
		if len(offered) == 0 || slices.Contains(offered, operation) {
			continue
		}
		if near := catalog.Similar(capability); len(near) > 0 {
			found = append(found, fmt.Errorf("grant %q: connector %s has no operation %s; did you mean %s?",
				eventlog.ClipName(pattern), eventlog.ClipName(connectorName), eventlog.ClipName(operation), near[0]))
			continue
		}
		found = append(found, fmt.Errorf("grant %q: connector %s has no operation %s; it has %s",
			eventlog.ClipName(pattern), eventlog.ClipName(connectorName), eventlog.ClipName(operation), list(offered)))
	}
	return errors.Join(found...)
}

// Withdrawn returns the entries of before that after does not name, and without which the workflow may do less. A
// person who replaces grants names those of the operations in mind, and easily forgets a secret.
func Withdrawn(before, after map[string]eventlog.Grant, definition *eventlog.Definition) []string {
	var withdrawn []string
	for _, pattern := range slices.Sorted(maps.Keys(before)) {
		if _, named := after[pattern]; named || before[pattern] == eventlog.GrantDeny {
			continue
		}
		if _, secret := eventlog.SecretOf(pattern); secret {
			withdrawn = append(withdrawn, pattern)
			continue
		}
		without, host, _ := strings.Cut(pattern, "@")
		connectorName, operation, _ := strings.Cut(without, ".")
		pin, used := definition.Operation(connectorName, operation)
		mutates := !used || connector.Kind(pin.Kind) == connector.Mutate
		left := capability.GrantedAt(after, connectorName, operation, host, mutates)
		if left == eventlog.GrantDeny || left == eventlog.GrantAsk && before[pattern] == eventlog.GrantAllow {
			withdrawn = append(withdrawn, pattern)
		}
	}
	return withdrawn
}

func validatePattern(pattern string) error {
	if pattern == everything {
		return nil
	}
	capability, host, named := strings.Cut(pattern, "@")
	if named {
		if err := validateHost(host); err != nil {
			return fmt.Errorf("grant %q: %w", eventlog.ClipName(pattern), err)
		}
	}
	connectorName, operation, dotted := strings.Cut(capability, ".")
	if !dotted || eventlog.ValidateConnectorName(connectorName) != nil ||
		operation != everything && eventlog.ValidateConnectorName(operation) != nil {
		return fmt.Errorf("grant %q is no capability; write connector.operation, connector.* or *",
			eventlog.ClipName(pattern))
	}
	return nil
}

// validateHost refuses a host that no call could ever match.
func validateHost(host string) error {
	name, port := host, ""
	if !strings.HasSuffix(host, "]") && strings.Contains(host, ":") {
		at := strings.LastIndexByte(host, ':')
		name, port = host[:at], host[at+1:]
		if strings.Contains(name, ":") && !(strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]")) {
			return errors.New("after @ write a host name, with a port where it is not the default one; " +
				"an IPv6 address stands in [ ]")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || n == 80 || n == 443 {
			return fmt.Errorf("%q is no port to name; leave out 80 and 443, which are the schemes' own", eventlog.ClipName(port))
		}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return errors.New("after @ write the host name in its ASCII form (xn--…)")
	}
	if name == "" || strings.ToLower(name) != name || strings.ContainsAny(name, "/@?#* \t") {
		return errors.New("after @ write a host name in lower case, without scheme, path or patterns")
	}
	return nil
}

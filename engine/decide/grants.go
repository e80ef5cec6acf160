package decide

import (
	"maps"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// CodeDenied is the code of a call that the workflow's grants do not allow.
const CodeDenied = "grant.denied"

// Granted is GrantedAt for an operation at any host.
func Granted(grants map[string]eventlog.Grant, connector, operation string, mutates bool) eventlog.Grant {
	return GrantedAt(grants, connector, operation, "", mutates)
}

// GrantedAt resolves a capability. The most specific entry wins: `connector.operation@host`; then
// `connector.operation` and `connector.*@host`, of which the stricter counts, since neither is the more
// specific one; then `connector.*`; then `*`. Without an entry, reads are allowed and mutations ask. Only a
// mutation can wait for an answer (O5), so a pattern's "ask" lets reads through, and an "ask" for exactly
// this read denies it. An unknown grant denies. Host is empty where the call goes to none.
func GrantedAt(grants map[string]eventlog.Grant, connector, operation, host string, mutates bool) eventlog.Grant {
	exact, all := connector+"."+operation, connector+".*"
	levels := [][]string{{exact}, {all}, {"*"}}
	if host != "" {
		levels = [][]string{{exact + "@" + host}, {exact, all + "@" + host}, {all}, {"*"}}
	}
	for _, level := range levels {
		found := eventlog.Grant("")
		for _, pattern := range level {
			if grant, ok := grants[pattern]; ok {
				found = stricter(found, meaning(grant, mutates, strings.HasPrefix(pattern, exact)))
			}
		}
		if found != "" {
			return found
		}
	}
	if mutates {
		return eventlog.GrantAsk
	}
	return eventlog.GrantAllow
}

// SecretGranted reports whether a workflow may use the configured secret of the name. Only an entry that names it
// grants it: no pattern does, and there is nothing to ask about while a request waits for an answer.
func SecretGranted(grants map[string]eventlog.Grant, name string) bool {
	return grants[eventlog.SecretCapability(name)] == eventlog.GrantAllow
}

// DeniedSecret is the failure of a call that carries the named secrets, the first of which that is not granted it
// names; nil if all are.
func DeniedSecret(w eventlog.WorkflowName, grants map[string]eventlog.Grant, names []string) *eventlog.Failure {
	for _, name := range names {
		if !SecretGranted(grants, name) {
			return failure(eventlog.Permission, CodeDenied,
				"workflow %s is not allowed to use the secret %s; an operator can allow %s", w, eventlog.ClipName(name),
				eventlog.SecretCapability(eventlog.ClipName(name)))
		}
	}
	return nil
}

// Denied is the failure of a call that the workflow's grants do not allow.
func Denied(w eventlog.WorkflowName, connector, operation, host string) *eventlog.Failure {
	at := ""
	if host != "" {
		at = " at " + host
	}
	return failure(eventlog.Permission, CodeDenied,
		"workflow %s is not allowed to call %s.%s%s; an operator can change its grants", w, connector, operation, at)
}

// meaning is what an entry says of an operation: exact is false for one that only a pattern matches.
func meaning(grant eventlog.Grant, mutates, exact bool) eventlog.Grant {
	switch {
	case grant == eventlog.GrantAllow, grant == eventlog.GrantAsk && mutates:
		return grant
	case grant == eventlog.GrantAsk && !exact:
		return eventlog.GrantAllow
	}
	return eventlog.GrantDeny
}

// stricter of two grants; the empty one is none.
func stricter(a, b eventlog.Grant) eventlog.Grant {
	for _, grant := range []eventlog.Grant{eventlog.GrantDeny, eventlog.GrantAsk, eventlog.GrantAllow} {
		if a == grant || b == grant {
			return grant
		}
	}
	return ""
}

// grants are those that the deploy leaves the workflow with. What a person decided stays, patterns
// included; a new operation that no entry covers is allowed if it reads and asks if it mutates, see
// Granted. An operation that used to read and mutates now asks again, if it was allowed by its own
// entry: that allowed a read.
func (c Deploy) grants(s *projections.State) map[string]eventlog.Grant {
	if c.Grants != nil {
		return c.Grants
	}
	grants := maps.Clone(s.Grants)
	if s.Version == "" && len(s.Grants) == 0 && c.GrantUsed {
		// Each by an entry of its own, so that an operation added later is not covered.
		grants = make(map[string]eventlog.Grant, len(c.Definition.Operations))
		for _, op := range c.Definition.Operations {
			grants[op.Capability()] = eventlog.GrantAllow
		}
	}
	for _, op := range c.Definition.Operations {
		before, known := s.Definition().Operation(op.Connector, op.Operation)
		if known && before.Kind != kindMutate && op.Kind == kindMutate && grants[op.Capability()] == eventlog.GrantAllow {
			grants[op.Capability()] = eventlog.GrantAsk
		}
	}
	return grants
}

// kindMutate is the kind of a pinned operation that changes something outside.
const kindMutate = "mutate"

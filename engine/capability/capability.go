package capability

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
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

// allowing stands in the message of DeniedSecret before the capability that is missing. Facts hold that message, and
// Missing reads it there: another sentence needs a reader for both.
const allowing = "; an admin can allow "

// Missing returns the capability that the failure of DeniedSecret asks for, and an empty text for another failure.
func Missing(f *eventlog.Failure) string {
	if f == nil || f.Code != CodeDenied {
		return ""
	}
	_, missing, _ := strings.Cut(f.Message, allowing)
	return missing
}

// DeniedSecret returns the failure of a call that uses a secret which the workflow is not granted. It names the first
// such secret. It returns nil if all are granted.
func DeniedSecret(w eventlog.WorkflowName, grants map[string]eventlog.Grant, names []string) *eventlog.Failure {
	for _, name := range names {
		if !SecretGranted(grants, name) {
			return refused("workflow %s is not allowed to use the secret %s%s%s", w, eventlog.ClipName(name), allowing,
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
	return refused("workflow %s is not allowed to call %s.%s%s; an admin can change its grants", w, connector,
		operation, at)
}

func refused(format string, args ...any) *eventlog.Failure {
	return &eventlog.Failure{Class: eventlog.Permission, Code: CodeDenied, Message: fmt.Sprintf(format, args...)}
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

// stricter returns the stricter of two grants; the empty grant counts as none.
func stricter(a, b eventlog.Grant) eventlog.Grant {
	for _, grant := range []eventlog.Grant{eventlog.GrantDeny, eventlog.GrantAsk, eventlog.GrantAllow} {
		if a == grant || b == grant {
			return grant
		}
	}
	return ""
}

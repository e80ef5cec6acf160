package capability_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/eventlog"
)

func TestGranted(t *testing.T) {
	t.Parallel()
	grants := map[string]eventlog.Grant{
		"m.send": eventlog.GrantAllow, "m.drop": eventlog.GrantDeny, "m.*": eventlog.GrantAsk, "m.list": eventlog.GrantAsk,
		"x.*": "perhaps",
	}
	all := map[string]eventlog.Grant{"*": eventlog.GrantDeny}
	tests := []struct {
		grants                map[string]eventlog.Grant
		connector, operation  string
		ofMutation, ofReading eventlog.Grant
	}{
		{grants, "m", "send", eventlog.GrantAllow, eventlog.GrantAllow},
		{grants, "m", "drop", eventlog.GrantDeny, eventlog.GrantDeny},
		{grants, "m", "other", eventlog.GrantAsk, eventlog.GrantAllow},
		{grants, "m", "list", eventlog.GrantAsk, eventlog.GrantDeny},
		{grants, "n", "send", eventlog.GrantAsk, eventlog.GrantAllow},
		{grants, "x", "send", eventlog.GrantDeny, eventlog.GrantDeny},
		{all, "n", "send", eventlog.GrantDeny, eventlog.GrantDeny},
		{nil, "n", "send", eventlog.GrantAsk, eventlog.GrantAllow},
	}
	for _, tt := range tests {
		if got := capability.Granted(tt.grants, tt.connector, tt.operation, true); got != tt.ofMutation {
			t.Errorf("mutation %s.%s: %s, want %s", tt.connector, tt.operation, got, tt.ofMutation)
		}
		if got := capability.Granted(tt.grants, tt.connector, tt.operation, false); got != tt.ofReading {
			t.Errorf("read %s.%s: %s, want %s", tt.connector, tt.operation, got, tt.ofReading)
		}
	}
}

func TestGrantsNameHosts(t *testing.T) {
	t.Parallel()
	const allow, ask, deny = eventlog.GrantAllow, eventlog.GrantAsk, eventlog.GrantDeny
	type grants = map[string]eventlog.Grant
	for name, tt := range map[string]struct {
		grants                grants
		host                  string
		ofMutation, ofReading eventlog.Grant
	}{
		"its own host":                       {grants{"m.op@a": allow, "m.op": deny, "m.*": deny}, "a", allow, allow},
		"another host":                       {grants{"m.op@a": allow, "m.op": deny}, "b", deny, deny},
		"the host with a port is another":    {grants{"m.op@a": allow, "m.op": deny}, "a:8443", deny, deny},
		"no host at all":                     {grants{"m.op@a": allow, "m.op@": allow, "m.op": deny}, "", deny, deny},
		"a host denied":                      {grants{"m.op@a": deny, "m.op": allow}, "a", deny, deny},
		"exactly asked":                      {grants{"m.op@a": ask, "m.op": allow}, "a", ask, deny},
		"all of the connector at a host":     {grants{"m.*@a": allow, "m.*": deny}, "a", allow, allow},
		"all at a host, asked":               {grants{"m.*@a": ask, "m.*": deny}, "a", ask, allow},
		"one before all at a host":           {grants{"m.op@a": allow, "m.*@a": deny, "m.op": deny}, "a", allow, allow},
		"neither is more specific, the host": {grants{"m.*@a": deny, "m.op": allow}, "a", deny, deny},
		"neither is more specific, the op":   {grants{"m.*@a": allow, "m.op": deny}, "a", deny, deny},
		"neither is more specific, asked":    {grants{"m.*@a": allow, "m.op": ask}, "a", ask, deny},
		"unknown at a host":                  {grants{"m.op@a": "maybe", "m.op": allow}, "a", deny, deny},
		"nothing of this host":               {grants{"m.op@a": deny}, "b", ask, allow},
	} {
		if got := capability.GrantedAt(tt.grants, "m", "op", tt.host, true); got != tt.ofMutation {
			t.Errorf("%s: a mutation may %s, want %s", name, got, tt.ofMutation)
		}
		if got := capability.GrantedAt(tt.grants, "m", "op", tt.host, false); got != tt.ofReading {
			t.Errorf("%s: a read may %s, want %s", name, got, tt.ofReading)
		}
	}
}

// A call that carries a secret needs its own entry: no pattern and no "ask" grants it, and nothing is recorded of the
// call.
func TestCallsWithSecretsNeedTheirGrants(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		grants  map[string]eventlog.Grant
		missing string
	}{
		"granted": {map[string]eventlog.Grant{"*": eventlog.GrantAllow,
			"secret.A": eventlog.GrantAllow, "secret.B": eventlog.GrantAllow}, ""},
		"one of two": {map[string]eventlog.Grant{"*": eventlog.GrantAllow, "secret.A": eventlog.GrantAllow}, "secret.B"},
		"patterns":   {map[string]eventlog.Grant{"*": eventlog.GrantAllow, "secret.*": eventlog.GrantAllow}, "secret.A"},
		"asked for":  {map[string]eventlog.Grant{"secret.A": eventlog.GrantAllow, "secret.B": eventlog.GrantAsk}, "secret.B"},
	} {
		failure := capability.DeniedSecret("shop", test.grants, []string{"A", "B"})
		if (failure != nil) != (test.missing != "") {
			t.Errorf("%s: %v", name, failure)
		}
		if failure != nil && (failure.Code != capability.CodeDenied || failure.Class != eventlog.Permission) {
			t.Errorf("%s: %+v", name, failure)
		}
		if missing := capability.Missing(failure); missing != test.missing {
			t.Errorf("%s: %q is missing, want %q", name, missing, test.missing)
		}
	}
	// The message as facts of this format hold it.
	recorded := &eventlog.Failure{Class: eventlog.Permission, Code: "grant.denied",
		Message: "workflow shop is not allowed to use the secret A; an admin can allow secret.A"}
	if missing := capability.Missing(recorded); missing != "secret.A" {
		t.Errorf("of a recorded failure, %q is missing", missing)
	}
	if missing := capability.Missing(capability.Denied("shop", "http", "get", "")); missing != "" {
		t.Errorf("of a call that is not about a secret, %q is missing", missing)
	}
}

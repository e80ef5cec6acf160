package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
)

type grants = map[string]eventlog.Grant

const (
	allow = eventlog.GrantAllow
	ask   = eventlog.GrantAsk
	deny  = eventlog.GrantDeny
)

func TestResolveGrant(t *testing.T) {
	tests := []struct {
		name   string
		grants grants
		// What a list, a get and a mutate operation may do
		list, get, mutate eventlog.Grant
	}{
		{"none given", nil, allow, allow, ask},
		{"nothing matches", grants{"other.*": deny, "m.other": deny}, allow, allow, ask},
		{"exact", grants{"m.op": allow}, allow, allow, allow},
		{"exact deny", grants{"m.op": deny}, deny, deny, deny},
		{"exact ask has no meaning for a read", grants{"m.op": ask}, deny, deny, ask},
		{"exact before connector", grants{"m.op": allow, "m.*": deny, "*": deny}, allow, allow, allow},
		{"connector before all", grants{"m.*": deny, "*": allow}, deny, deny, deny},
		{"all", grants{"*": deny}, deny, deny, deny},
		{"ask of a pattern is for mutations", grants{"*": ask}, allow, allow, ask},
		{"ask of a connector is for mutations", grants{"m.*": ask, "*": deny}, allow, allow, ask},
		{"unknown grant", grants{"m.op": "maybe", "*": allow}, deny, deny, deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for kind, want := range map[string]eventlog.Grant{"list": tt.list, "get": tt.get, "mutate": tt.mutate, "": deny,
				"reconcile": deny} {
				if got := deploy.ResolveGrant(tt.grants, kind, "m", "op"); got != want {
					t.Errorf("kind %q: got %s, want %s", kind, got, want)
				}
			}
		})
	}
}

func pins(kinds map[string]string) *eventlog.Definition {
	d := &eventlog.Definition{}
	for capability, kind := range kinds {
		connector, operation, _ := strings.Cut(capability, ".")
		d.Operations = append(d.Operations, eventlog.Operation{Connector: connector, Operation: operation, Kind: kind})
	}
	return d
}

func TestValidateGrants(t *testing.T) {
	definition := pins(map[string]string{"m.send": "mutate", "m.get": "get"})
	good := grants{"m.send": ask, "m.get": deny, "m.*": ask, "*": allow, "unknown.thing": ask,
		"m.send@api.example.com": ask, "m.*@127.0.0.1:9000": deny, "m.send@[::1]:9000": allow, "m.send@[::1]": allow,
		"m.get@api.example.com": deny}
	if err := deploy.ValidateGrants(good, definition); err != nil {
		t.Error(err)
	}
	bad := grants{
		"m": allow, "": allow, "*.send": allow, "m.send.x": allow, "m.": allow, ".send": allow, "m.s*": allow, "**": allow,
		"m-x.send":          allow,
		"*@api.example.com": allow, "m.send@": allow, "m.send@API.example.com": allow, "m.send@https://a": allow,
		"m.send@a/b": allow, "m.send@a:443": allow,
		"m.send@a:b": allow, "m.send@*.a": allow, "m.send@::1": allow, "m.send@bücher.example": allow, "m@a": allow,
		"m.send@a@b": allow, "m.get@a": ask,
		"m.send": "yes", "m.get": ask,
	}
	for pattern, grant := range bad {
		err := deploy.ValidateGrants(grants{pattern: grant, "*": deny}, definition)
		if err == nil || !strings.Contains(err.Error(), `"`+pattern+`"`) {
			t.Errorf("%q: %q gives %v, want an error that names it", pattern, grant, err)
		}
	}
	err := deploy.ValidateGrants(grants{"b": allow, "a": allow}, definition)
	if err == nil || strings.Index(err.Error(), `"a"`) > strings.Index(err.Error(), `"b"`) {
		t.Errorf("all entries in a stable order: got %v", err)
	}
}

// TestValidateGranted: an operation that its connector does not have is refused with the nearest one, else with those
// that there are; what is held already, what the script uses, a pattern and a connector that is not there are fine.
func TestValidateGranted(t *testing.T) {
	known, definition := catalog(t), pins(map[string]string{"mail.vanished": "mutate"})
	held := grants{"mail.former": allow}
	for capability, want := range map[string]string{
		"mail.sned":                  "did you mean mail.send?",
		"mail.sned@mail.example.com": "did you mean mail.send?",
		"mail.recommission":          "it has ",
		"mail.send":                  "", "mail.*": "", "*": "", "mail.vanished": "", "mail.former": "", "fax.send": "",
	} {
		err := deploy.ValidateGranted(grants{capability: allow}, held, definition, known)
		refused := err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), `"`+capability+`"`)
		if want == "" && err != nil || want != "" && !refused {
			t.Errorf("%s: %v, want %q", capability, err, want)
		}
	}
	if err := deploy.ValidateGranted(grants{"mail.former": deny}, held, definition, known); err == nil {
		t.Error("a held entry that is changed is not looked at")
	}
}

// TestWithdrawn: what is said to be taken away is what a workflow may do less without an entry that is left out.
func TestWithdrawn(t *testing.T) {
	definition := pins(map[string]string{"m.send": "mutate", "m.get": "get"})
	tests := map[string]struct {
		before, after grants
		want          []string
	}{
		"secrets": {grants{"secret.B": allow, "secret.A": allow}, grants{"m.send": allow},
			[]string{"secret.A", "secret.B"}},
		"a secret that is named":   {grants{"secret.A": allow}, grants{"secret.A": deny}, nil},
		"a secret that was none":   {grants{"secret.A": deny}, grants{"m.send": allow}, nil},
		"no pattern is a secret's": {grants{"secret.A": allow}, grants{"*": allow}, []string{"secret.A"}},
		"a call now asks":          {grants{"m.send": allow}, grants{"m.get": allow}, []string{"m.send"}},
		"a call still asks":        {grants{"m.send": ask}, grants{"m.get": allow}, nil},
		"a pattern allows it":      {grants{"m.send": allow, "m.send@a": allow}, grants{"m.*": allow}, nil},
		"a pattern denies it":      {grants{"m.send": ask}, grants{"*": deny}, []string{"m.send"}},
		"a read is allowed":        {grants{"m.get": allow}, grants{"m.send": allow}, nil},
		"a host":                   {grants{"m.send": ask, "m.send@a": allow}, grants{"m.send": ask}, []string{"m.send@a"}},
		"all":                      {grants{"*": allow}, grants{"m.send": allow}, []string{"*"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := deploy.Withdrawn(tt.before, tt.after, definition); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

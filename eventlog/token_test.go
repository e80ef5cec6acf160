package eventlog

import (
	"strings"
	"testing"
)

// The installation's name is no workflow's, and owns transitions all the same.
func TestInstallationIsNoWorkflow(t *testing.T) {
	if Installation.Validate() == nil {
		t.Errorf("a workflow may be called %s", Installation)
	}
	for name, valid := range map[WorkflowName]bool{Installation: true, "shop": true, "_other": false, "": false,
		"a.b": false} {
		if err := name.ValidateOwner(); (err == nil) != valid {
			t.Errorf("%q owns transitions: %v, want %t", name, err, valid)
		}
	}
}

func TestTokenNames(t *testing.T) {
	for name, valid := range map[TokenName]bool{
		"ci": true, "backup-job": true, "ann@example.com": true, "a_b.c": true, "9": true,
		TokenName(strings.Repeat("a", 64)): true,
		TokenName(strings.Repeat("a", 65)): false, "": false, "-a": false, "a b": false, "a/b": false, "a\n": false,
		"ä": false, "*": false,
	} {
		if err := name.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v, want valid %t", name, err, valid)
		}
	}
	for role, valid := range map[TokenRole]bool{RoleViewer: true, RoleIngest: true, RoleOperator: true, RoleAdmin: true,
		"": false, "Admin": false, "root": false} {
		if err := role.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v, want valid %t", role, err, valid)
		}
	}
}

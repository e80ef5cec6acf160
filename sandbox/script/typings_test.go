package script

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestTypings: the declarations are the TypeScript they claim to be, and name all of ctx.
func TestTypings(t *testing.T) {
	t.Parallel()
	_, _, problems := transform("types.d.ts", sandbox.Typings)
	if len(problems) != 0 {
		t.Errorf("%+v", problems)
	}
	for name := range sandbox.Builtins {
		if !strings.Contains(sandbox.Typings, "  "+name+"(") && !strings.Contains(sandbox.Typings, "  "+name+"<") &&
			!strings.Contains(sandbox.Typings, "  readonly "+name+": ") {
			t.Errorf("ctx.%s is not declared", name)
		}
	}
}

package vm_test

import (
	"slices"
	"testing"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// The checks know all members of a list, so none of them reports one that is there.
func TestListMembersAreThoseOfTheInterpreter(t *testing.T) {
	t.Parallel()
	rt := goja.New()
	v, err := rt.RunString("Object.getOwnPropertyNames(Array.prototype)")
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	if err := rt.ExportTo(v, &has); err != nil {
		t.Fatal(err)
	}
	slices.Sort(has)
	if known := slices.Sorted(slices.Values(sandbox.ListMembers)); !slices.Equal(known, has) {
		t.Errorf("the checks know %q,\nand a list has %q", known, has)
	}
}

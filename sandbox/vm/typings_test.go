package vm

import (
	"regexp"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// Every member that means something has a type.
func TestEveryMemberHasAType(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(workflowMembers, producerMembers, consumerMembers) {
		if !regexp.MustCompile(`(?m)^  ` + name + `\??[:(]`).MatchString(sandbox.Typings) {
			t.Errorf("types.d.ts says nothing of %s", name)
		}
	}
}

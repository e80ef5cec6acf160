package vm

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestCacheIsBounded and shared by all callers of a script.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := NewScripts(3)
	a := sandbox.Source{Filename: "a.ts", Code: "export default 0"}
	first, _ := c.Get(a, 1000)
	for i := range 2 {
		c.Get(sandbox.Source{Filename: "a.ts", Code: fmt.Sprintf("export default %d // other", i)}, 1000)
	}
	if again, _ := c.Get(a, 1000); again != first || first == nil {
		t.Error("compiled again")
	}
	for i := range 5 {
		c.Get(sandbox.Source{Filename: "a.ts", Code: fmt.Sprintf("export default %d // new", i)}, 1000)
	}
	if c.size() != 3 {
		t.Errorf("%d scripts kept", c.size())
	}
	if again, _ := c.Get(a, 1000); again == first {
		t.Error("the oldest script was not dropped")
	}
}

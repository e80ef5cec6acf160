package look

import (
	"bytes"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/ops/explain"
)

// Commands stand below the sentences that they belong to.
func TestPrintWhy(t *testing.T) {
	t.Parallel()
	held := decide.ReasonHeld
	for name, test := range map[string]struct {
		why  explain.Why
		want string
	}{
		"one thing": {explain.Why{Workflow: "shop", Reason: &held, Message: "One stands. Two follows.",
			Commands: []string{"pawl resume shop"}}, "shop: held\nOne stands.\nTwo follows.\n  pawl resume shop\n"},
		"several": {explain.Why{Workflow: "shop", Reason: &held, Message: "One stands. Two follows.",
			Commands: []string{"pawl resume shop", "pawl deploy FILE"}, Parts: []explain.Paragraph{
				{Message: "One stands.", Commands: []string{"pawl resume shop"}}, {Commands: []string{"pawl deploy FILE"}},
				{Message: "Two follows."}}},
			"shop: held\nOne stands.\n  pawl resume shop\n  pawl deploy FILE\nTwo follows.\n"},
	} {
		var out bytes.Buffer
		printWhy(term.Screen{Out: &out}, test.why)
		if got := out.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

package loss

import (
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// TestSetAsideNamesFewCalls: what is said of the part that counts no more names the first calls and counts the others.
func TestSetAsideNamesFewCalls(t *testing.T) {
	aside := SetAside{From: eventlog.Position{Seq: 7}, Transitions: 60, Why: "it cannot be read",
		Calls: []string{"mail.send (mutation A)", "mail.send (mutation B)", "mail.send (mutation C)"}, MoreCalls: 17}
	const want = "60 of its transitions, from position 0:7 on, count no more (it cannot be read); " +
		"calls among them: mail.send (mutation A), mail.send (mutation B), mail.send (mutation C) and 17 more"
	if got := aside.String(); got != want {
		t.Errorf("got %q", got)
	}
}

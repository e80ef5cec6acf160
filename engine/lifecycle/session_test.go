package lifecycle_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// S7: a session is one burst of runs, completed or failed; at its bound it ends, and the next one
// begins with due producers.
func TestSessions(t *testing.T) {
	l := live(t, func(p *schedule.Policies) { p.Session.MaxRuns = 2 })
	l.deploy(shop{producer: `await ctx.publish("letters", { messageId: "l", title: "L" });`})
	l.do("pauseWorkflow", nil)
	l.push("a", "b", "c")
	l.do("resumeWorkflow", nil)
	l.rest()
	sessions := func() []readmodel.Session {
		var page readmodel.Page[readmodel.Session]
		l.do("listWorkflowSessions", &page)
		return page.Items
	}
	for _, s := range sessions() {
		if s.Runs > 2 || s.Result == nil || *s.Result != "completed" || s.EndedAt == 0 {
			t.Errorf("session %+v", s)
		}
	}
	l.wantEvent("c", "consumed")
	l.sends(definitely(eventlog.Auth))
	l.push("d")
	all := sessions()
	last, failed := all[len(all)-1], l.run("send")
	if *last.Result != "failed" || last.ID != failed.Session || last.EndedAt != failed.EndedAt {
		t.Errorf("the session that a failure ended: %+v, run %+v", last, failed)
	}
	l.sound()
}

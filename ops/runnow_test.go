package ops

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

// S5: the answer says of each producer whether it runs now; of one that is queued, what comes first and
// what a person can do about it, in the words of `why`.
func TestS5_RunNowSaysWhatIsQueued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", "allow")
	runNow := func() QueuedProducer {
		t.Helper()
		b.engine.Rest("shop")
		var answer struct {
			Name, Status string
			Producers    []QueuedProducer
		}
		b.do("runWorkflow", map[string]any{"workflow": "shop"}, &answer)
		if answer.Name != "shop" || answer.Status == "" || len(answer.Producers) != 1 || answer.Producers[0].Name != "poll" {
			t.Fatalf("%+v", answer)
		}
		return answer.Producers[0]
	}
	if p := runNow(); p.Runs != RunsNow || p.Behind != nil {
		t.Errorf("at rest: %+v", p)
	}
	queuedBehind := func(reason decide.Reason, says string, commands ...string) {
		t.Helper()
		p := runNow()
		if p.Runs != RunsQueued || p.Behind == nil || p.Behind.Reason == nil || *p.Behind.Reason != reason {
			t.Fatalf("not queued behind %s: %+v", reason, p)
		}
		var why explain.Why
		b.do("explainWorkflow", map[string]any{"workflow": "shop"}, &why)
		if p.Behind.Message != why.Message || !slices.Equal(p.Behind.Commands, why.Commands) {
			t.Errorf("it says %+v, why says %+v", p.Behind, why)
		}
		if !strings.Contains(p.Behind.Message, says) {
			t.Errorf("%s does not say %q: %s", reason, says, p.Behind.Message)
		}
		for _, command := range commands {
			if !slices.Contains(p.Behind.Commands, command) {
				t.Errorf("%s does not name %q: %q", reason, command, p.Behind.Commands)
			}
		}
	}
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	queuedBehind(decide.ReasonUserPause, "was paused by ann", "pawl resume shop")
	b.do("resumeWorkflow", map[string]any{"workflow": "shop"}, nil)
	b.engine.Rest("shop")
	b.do("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in", "events": []map[string]any{
		{"messageId": "x", "title": "X", "payload": map[string]any{"crash": true}},
	}}, nil)
	queuedBehind(decide.ReasonMaintenance, "needs a repair", "pawl repair shop FILE")
}

// Behind another run nothing holds the workflow: the producer follows by itself.
func TestS5_QueuedBehindARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := new(projections.State).Hydrate(
		&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 7}, Current: "R1"},
		&projections.Run{ID: "R1", Handler: "p", Type: eventlog.ProducerHandler, Status: eventlog.RunStatusActive,
			Engine: "E"},
	)
	got := b.server.queuedProducers(&decide.Queued{Producers: []eventlog.Handler{"p", "q"}, Running: "p",
		First: decide.RunProducer{Run: "R1"}, State: *s})
	if len(got) != 2 || got[0].Runs != RunsNow || got[0].Behind != nil || got[1].Runs != RunsQueued {
		t.Fatalf("%+v", got)
	}
	if behind := got[1].Behind; behind.Reason != nil ||
		!strings.Contains(behind.Message, "Run R1 of producer p is polling the outside. What is queued follows by itself.") ||
		!slices.Equal(behind.Commands, []string{"pawl why shop"}) {
		t.Errorf("%+v", behind)
	}
}

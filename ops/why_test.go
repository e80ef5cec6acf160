package ops

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

// TestExplainCoversEveryReason: each reason that the rules know has words of its own.
func TestExplainCoversEveryReason(t *testing.T) {
	t.Parallel()
	s := new(projections.State).Hydrate(&projections.Workflow{Name: "shop", Head: eventlog.Head{Revision: 1}})
	for _, reason := range knownReasons() {
		w := explain.Workflow(s, decide.Wait{Reason: reason}, decide.Present{}, explain.Beside{})
		if strings.HasPrefix(w.Message, "Workflow shop waits: ") {
			t.Errorf("%s is not rendered: %s", reason, w.Message)
		}
	}
	w := explain.Workflow(s, decide.Wait{Reason: "new"}, decide.Present{}, explain.Beside{})
	if w.Message != "Workflow shop waits: new." {
		t.Errorf("an unknown reason: %s", w.Message)
	}
	stopped := explain.Stopped("shop", errors.New("revision 3 is missing"))
	if stopped.Moving || *stopped.Reason != decide.ReasonNoWorker ||
		!strings.Contains(stopped.Message, "revision 3 is missing") {
		t.Errorf("%+v", stopped)
	}
}

// knownReasons are those of the OpenAPI document.
func knownReasons() []decide.Reason {
	var reasons []decide.Reason
	for _, v := range knownTypes[reflect.TypeFor[decide.Reason]()].Enum {
		if reason := decide.Reason(v.(string)); reason != decide.ReasonNoWorker {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// After an accepted loss was resumed, what it ended stands in why until a person has decided on each event (O11).
func TestWhyNamesWhatAnAcceptedLossEnded(t *testing.T) {
	t.Parallel()
	const at = eventlog.Instant(1_700_000_000_000_000)
	s := new(projections.State).Hydrate(&projections.Workflow{Name: "shop", Counts: projections.Counts{
		Undecided: 5, UndecidedSince: at, UndecidedFirst: []projections.Undecided{
			{Topic: "in", MessageID: "a 1", Title: "Order A"}, {Topic: "in", MessageID: "b", Title: "b"},
			{Topic: "in", MessageID: "c", Title: "C"}, {Topic: "in", MessageID: "d", Title: "D"},
		},
	}})
	why := explain.Workflow(s, decide.Wait{Reason: decide.ReasonIdle}, decide.Present{}, explain.Beside{})
	if a := why.Attention; a == nil || a.Reason != projections.AttentionUnknown || a.Failures != 5 || a.Since != at {
		t.Errorf("attention %+v", a)
	}
	for _, said := range []string{`5 of its events were ended`,
		`event "a 1" (“Order A”) of topic in, event "b" of topic in,`, "2 more", "Look at the other side"} {
		if !strings.Contains(why.Message, said) {
			t.Errorf("%q is missing in %s", said, why.Message)
		}
	}
	for _, command := range []string{"pawl redrive shop in 'a 1' --including-unknown", "pawl skip shop in 'a 1'",
		"pawl skip shop in c", "pawl jobs list --workflow shop --state cancelled"} {
		if !slices.Contains(why.Commands, command) {
			t.Errorf("%q is missing in %q", command, why.Commands)
		}
	}
}

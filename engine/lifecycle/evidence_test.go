package lifecycle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// attempts are the earlier runs that the evidence of a run names.
func (l *life) attempts(run eventlog.RunID) []eventlog.RunID {
	l.t.Helper()
	var evidence struct {
		Attempts []struct{ ID eventlog.RunID }
	}
	l.do("getEvidence", &evidence, "run", run)
	var ids []eventlog.RunID
	for _, a := range evidence.Attempts {
		ids = append(ids, a.ID)
	}
	return ids
}

// The evidence of a run names the earlier failures for its own events, and not those for others.
func TestEvidenceIsOfTheSameEvents(t *testing.T) {
	l := live(t)
	l.deploy(shop{options: "maxAttempts: 3,"})
	l.always(definitely(eventlog.Logic))
	l.push("a", "b")
	l.advance("1h")
	l.wantJob("a", "discarded", 4)
	l.wantJob("b", "discarded", 4)
	before := map[string][]eventlog.RunID{} // by the order it was for, the newest first
	for _, run := range l.runs("send") {
		if run.Error == nil {
			continue
		}
		order := string(run.PrepareResult)
		if got := l.attempts(run.ID); !slices.Equal(got, before[order]) {
			t.Errorf("run %s for %s: its evidence names %v, want %v", run.ID, order, got, before[order])
		}
		before[order] = slices.Insert(before[order], 0, run.ID)
	}
	if len(before) != 2 {
		t.Fatalf("the failed runs: %v", before)
	}
	l.sound()
}

// A run that failed before it had chosen events may have failed for any: it bears on all of its handler.
func TestEvidenceOfFailuresBeforeTheChoice(t *testing.T) {
	l := live(t)
	l.deploy(shop{prepare: broken("read"), producer: broken("poll")})
	l.repair(shop{prepare: broken("read"), producer: `return { polled: true };`})
	l.push("a")
	first := l.wantRun("preparing failed:logic none")
	l.repair(shop{mutate: broken("send"), producer: `return { polled: true };`})
	second := l.wantRun("mutating failed:logic none")
	if got := l.attempts(second.ID); !slices.Equal(got, []eventlog.RunID{first.ID}) {
		t.Errorf("the evidence names %v, want %v and nothing of the producer", got, first.ID)
	}
	l.sound()
}

// The runs that it is a retry of bear on a run, also one that crashed (R15).
func TestEvidenceOfAChain(t *testing.T) {
	l := live(t)
	l.deploy(shop{next: broken("publish")})
	l.diesAfter("mutation.applied")
	l.pushed("a")
	l.died()
	l.rest()
	l.repair(shop{next: broken("publish again")})
	var chain []readmodel.Run
	for _, run := range l.runs("send") {
		if run.Mutation != nil {
			chain = slices.Insert(chain, 0, run)
		}
	}
	if len(chain) != 3 || chain[2].Status != eventlog.RunStatusCrashed {
		t.Fatalf("the chain: %+v", chain)
	}
	if got := l.attempts(chain[0].ID); !slices.Equal(got, []eventlog.RunID{chain[1].ID, chain[2].ID}) {
		t.Errorf("the evidence names %v, want %v and %v", got, chain[1].ID, chain[2].ID)
	}
	l.sound()
}

// A run that a person has to look at, or that is tried again, has evidence as a failure of the script has: what mutate
// was given, the line of its call and the schema of its operation.
func TestEvidenceOfCallsThatFail(t *testing.T) {
	for _, class := range []eventlog.Class{eventlog.Precondition, eventlog.Transient, eventlog.Logic} {
		t.Run(string(class), func(t *testing.T) {
			l := live(t)
			l.deploy(shop{})
			l.always(definitely(class))
			l.push("a")
			var failed readmodel.Run
			for _, run := range l.runs("send") {
				if run.Error != nil {
					failed = run
				}
			}
			e := l.evidence(failed.ID)
			if e.Inputs.Phase != "mutate" || string(e.Inputs.Prepared) != string(failed.PrepareResult) {
				t.Errorf("inputs %+v of run %+v", e.Inputs, failed)
			}
			if e.Error.Class != class || e.Error.Line == 0 || !strings.Contains(e.Error.Text, "(") {
				t.Errorf("error %+v", e.Error)
			}
			if len(e.Operations) != 1 || e.Operations[0].Operation != "world.send" || e.Operations[0].Kind != "mutate" {
				t.Errorf("operations %+v", e.Operations)
			}
			if !strings.Contains(e.Numbered, "\n>") || strings.Count(e.Numbered, "\n") != strings.Count(e.Source, "\n") {
				t.Errorf("numbered:\n%s", e.Numbered)
			}
			if e.Problems == nil {
				t.Error("the validator has not been asked")
			}
		})
	}
}

type evidence struct {
	Source, Numbered string
	Error            struct {
		Class eventlog.Class
		Line  int
		Text  string
	}
	Inputs struct {
		Phase    string
		Prepared json.RawMessage
	}
	Operations []struct {
		Operation, Kind string
	}
	Problems []json.RawMessage
}

func (l *life) evidence(run eventlog.RunID) (e evidence) {
	l.t.Helper()
	l.do("getEvidence", &e, "run", run)
	return e
}

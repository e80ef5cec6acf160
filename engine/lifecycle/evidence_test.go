package lifecycle_test

import (
	"slices"
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

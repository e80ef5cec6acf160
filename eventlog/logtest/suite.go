package logtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// Run runs the suite. open returns a fresh, empty log each time.
func Run(t *testing.T, open func(*testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"ReadsBackWhatWasAcknowledged", readsBack},
		{"RevisionsAreDense", dense},
		{"StaleHeadConflicts", stale},
		{"HeadThatIsNotThere", ahead},
		{"SameEntryAgain", again},
		{"LostAcknowledgement", lostAck},
		{"LostAcknowledgementThenTaken", lostAndTaken},
		{"OvertakenIsSaid", overtaken},
		{"LostConflict", lostConflict},
		{"ContextEnds", contextEnds},
		{"TooLarge", tooLarge},
		{"LargestFits", largest},
		{"ReadFromTheMiddle", middle},
		{"ReadStopsWhenTold", stops},
		{"UnreadableRecord", unreadable},
		{"WatchFollows", watchFollows},
		{"GroupWithConflicts", group},
		{"C10_GroupsOfManyWorkflows", groupsOfMany},
		{"C10_TornGroup", groupTorn},
		{"C10_TornGroupThenTaken", groupTornAndTaken},
		{"C10_LostGroup", groupLost},
		{"C10_LostGroupThenTaken", groupLostAndTaken},
		{"SecondEngine", second},
		{"WritersRace", race},
		{"CloseWhileAppending", closing},
		{"ClosedLog", closed},
		{"NamesAreChecked", badNames},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// group appends for many workflows at once, every third on a stale head: the stale ones must not
// take the others with them.
func group(t *testing.T, h Harness) {
	const n = 90
	heads := make([]eventlog.Head, n)
	name := func(i int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprintf("w%d", i)) }
	for round := range 3 {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				expected, wantConflict := heads[i], round > 0 && i%3 == 0
				if wantConflict {
					expected = eventlog.Head{}
				}
				written, err := h.Log.Append(within(t, deadline), Entry(t, name(i), expected))
				switch {
				case wantConflict != errors.Is(err, eventlog.ErrConflict) || !wantConflict && err != nil:
					t.Errorf("round %d, workflow %d: %v", round, i, err)
				case !wantConflict:
					heads[i] = written.Head
				}
			})
		}
		all.Wait()
	}
	want := map[eventlog.Head]bool{}
	for _, head := range heads {
		want[head] = true
	}
	for _, r := range ReadAll(t, h.Log) {
		delete(want, r.Head())
	}
	if len(want) != 0 {
		t.Errorf("%d acknowledged heads are not in the log", len(want))
	}
}

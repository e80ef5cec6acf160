package loss

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// holed is a log of which only the order of what is left counts.
type holed struct {
	eventlog.LossKeeper
	records []eventlog.Record
	last    uint64
}

func (h holed) Last(context.Context, int) (uint64, error) { return h.last, nil }
func (h holed) ReadAll(context.Context, int, uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for _, r := range h.records {
			var err error
			if r.Revision == 0 {
				err = fmt.Errorf("read: %w", eventlog.ErrUnreadable)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Missing messages are another workflow's only if the revisions that it lacks are as many.
func TestMissingMessagesOfAnyone(t *testing.T) {
	at := func(seq uint64, w eventlog.WorkflowName, revision uint64) eventlog.Record {
		return eventlog.Record{
			Position:   eventlog.Position{Seq: seq},
			Transition: eventlog.Transition{Workflow: w, Revision: revision},
		}
	}
	for name, c := range map[string]struct {
		records []eventlog.Record
		last    uint64
		want    uint64
		lost    []eventlog.Missing // nil: everything that is missing
	}{
		"one workflow lacks all": {[]eventlog.Record{at(1, "a", 1), at(2, "b", 1), at(4, "b", 3)}, 4, 0, nil},
		"two lack all together": {
			[]eventlog.Record{at(1, "a", 1), at(2, "b", 1), at(5, "b", 3), at(6, "a", 3)}, 6, 0, nil,
		},
		"one more is missing":               {[]eventlog.Record{at(1, "a", 1), at(2, "b", 1), at(5, "b", 3)}, 5, 3, nil},
		"none lacks any":                    {[]eventlog.Record{at(1, "a", 1), at(3, "a", 2)}, 3, 2, nil},
		"the first ones of a workflow":      {[]eventlog.Record{at(1, "a", 1), at(4, "b", 3)}, 4, 0, nil},
		"lacking in one of two ranges":      {[]eventlog.Record{at(1, "a", 1), at(3, "b", 1), at(5, "a", 3)}, 5, 4, nil},
		"a range before is any workflow's":  {[]eventlog.Record{at(1, "a", 1), at(3, "a", 2), at(5, "a", 4)}, 5, 2, nil},
		"the end":                           {[]eventlog.Record{at(1, "a", 1), at(3, "a", 3)}, 4, 4, nil},
		"one that cannot be read":           {[]eventlog.Record{at(1, "a", 1), at(2, "a", 0), at(4, "a", 3)}, 4, 3, nil},
		"one that cannot be read, no name":  {[]eventlog.Record{at(1, "a", 1), at(2, "", 0), at(4, "a", 3)}, 4, 99, nil},
		"revisions begin again after a cut": {[]eventlog.Record{at(1, "a", 5), at(3, "a", 4)}, 3, 2, nil},
		"recorded before": {
			[]eventlog.Record{at(1, "a", 1), at(3, "a", 2), at(5, "a", 4)}, 5, 0, []eventlog.Missing{{From: 4, To: 4}},
		},
		"the end, recorded before": {
			[]eventlog.Record{at(1, "a", 1), at(3, "a", 3)}, 4, 0, []eventlog.Missing{{From: 2, To: 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lost := c.lost
			if lost == nil {
				lost = []eventlog.Missing{{From: 1, To: 98}, {From: 99, To: 99}}
			}
			got, err := lastUnattributed(t.Context(), holed{records: c.records, last: c.last}, 0, lost)
			if err != nil || got != c.want {
				t.Errorf("it begins at %d, %v, want %d", got, err, c.want)
			}
		})
	}
}

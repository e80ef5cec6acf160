package projections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
)

// offered is what the consumer may begin by C1 and C2, read off all events one by one.
func offered(
	s *projections.State, c eventlog.Consumer, tried bool, now eventlog.Instant,
) (may []projections.Candidate) {
	unfinished := func(e *projections.TopicEvent) bool {
		return slices.Contains(c.Subscribe, e.Topic) &&
			(e.Status == eventlog.EventStatusPending || e.Status == eventlog.EventStatusReserved)
	}
	key := func(e *projections.TopicEvent) string {
		if run := s.Run(e.ReservedBy); e.Status == eventlog.EventStatusReserved && run != nil {
			if began, _ := s.Script(run.Version).Definition.Consumer(run.Handler); began.Key == c.Key {
				return run.Key
			}
		}
		return projections.EventKeyAt(c.Key, e.Payload)
	}
	type waiting struct {
		oldest   projections.Ordinal
		reserved bool
	}
	keys := map[string]waiting{}
	var events []*projections.TopicEvent
	for _, e := range s.Events() {
		if !unfinished(e) {
			continue
		}
		events = append(events, e)
		k, known := keys[key(e)]
		if !known || e.Created.Before(k.oldest) {
			k.oldest = e.Created
		}
		k.reserved = k.reserved || e.Status == eventlog.EventStatusReserved
		keys[key(e)] = k
	}
	for _, e := range events {
		k := key(e)
		if e.Status == eventlog.EventStatusPending && e.Held == nil && e.ScheduledAt <= now && (e.FailedAt != 0) == tried &&
			(k == "" || keys[k].oldest == e.Created && !keys[k].reserved) {
			may = append(may, projections.Candidate{Topic: e.Topic, Created: e.Created})
		}
	}
	slices.SortFunc(may, func(a, b projections.Candidate) int {
		if a.Created.Before(b.Created) {
			return -1
		}
		return 1
	})
	return may
}

// TestC2_OrderEqualsANaiveOne compares what may begin with what all events say one by one, in every state of random
// histories, and where open runs stand with what they, their mutations and events say.
func TestC2_OrderEqualsANaiveOne(t *testing.T) {
	t.Parallel()
	busy, keyed, tried := 0, 0, 0
	for seed := range few(16) {
		h := foldtest.NewConcurrentHistory(foldtest.NewLog(seed), "w")
		for range 200 {
			if _, err := h.Step(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			s := h.State
			c, _ := s.Definition().Consumer(foldtest.Each)
			for _, now := range moments {
				for _, again := range []bool{false, true} {
					var got, want []projections.Candidate
					for from := range s.Offered(c, again, now) {
						got = append(got, from)
					}
					if c.Concurrent() {
						want = offered(s, c, again, now)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d: revision %d: at %s, tried %t, other events may begin (-naive +state):\n%s", seed,
							s.Head.Revision, now, again, diff)
					}
					if newest, found := s.NewestUntried(c, now); !again && (found != (len(want) > 0) ||
						found && newest != want[len(want)-1]) {
						t.Fatalf("seed %d: revision %d: at %s the newest is %v (%t), want the last of %v", seed, s.Head.Revision, now,
							newest, found, want)
					}
					if at, waits := s.SoonestOffer(c, again); c.Concurrent() && (waits && at <= now) != (len(got) > 0) {
						t.Fatalf("seed %d: revision %d: at %s, tried %t, %d may begin, and the first is due at %s (%t)", seed,
							s.Head.Revision, now, again, len(got), at, waits)
					}
					if again {
						tried += len(got)
					} else if c.Key != "" {
						keyed += len(got)
					}
				}
			}
			busy += standing(t, s)
		}
	}
	if busy < int(few(5000)) || keyed < int(few(5000)) || tried < int(few(1000)) {
		t.Errorf("%d open runs, %d events with a path for keys, %d tried ones: that says little", busy, keyed, tried)
	}
}

// standing compares the order of open runs with the runs, and returns how many there are.
func standing(t *testing.T, s *projections.State) (open int) {
	t.Helper()
	var want, got []string
	for id, run := range s.Runs() {
		if run.Event == nil || run.EndedAt != 0 && !run.Owes {
			if s.Open(id) {
				t.Fatalf("revision %d: run %s is over and stands among the open ones", s.Head.Revision, id)
			}
			continue
		}
		open++
		if of := s.OpenRun(run.Event.Topic, run.Event.MessageID); of != run {
			t.Fatalf("revision %d: run %s is open for its event, and the state says %v", s.Head.Revision, id, of)
		}
		m, e := s.Mutation(run.Mutation), s.Event(run.Event.Topic, run.Event.MessageID)
		waits := run.EndedAt == 0 && m != nil && m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt == 0
		unresolved := m != nil && m.Status.Unresolved()
		switch {
		case run.Status == eventlog.RunStatusActive:
			want = append(want, fmt.Sprintf("%s is active", id))
		case run.EndedAt != 0 && unresolved && m.Status != eventlog.MutationStatusIndeterminate:
			want = append(want, fmt.Sprintf("%s is asked about at %s", id, m.ReconcileAt))
		case waits, run.EndedAt != 0 && (unresolved || e.Held != nil && e.ReservedBy == id):
		default:
			want = append(want, fmt.Sprintf("%s returns at %s", id, run.RetryAt))
		}
		want = append(want, fmt.Sprintf("%s is open", id))
		if m != nil && !s.Live(projections.MutationKey(m.ID)) || !s.Live(projections.RunKey(id)) ||
			!s.Live(projections.ScriptKey(run.Version)) {
			t.Fatalf("revision %d: open run %s, its mutation or its script may leave memory", s.Head.Revision, id)
		}
	}
	for _, line := range foldtest.Lanes(s) {
		if !strings.HasPrefix(line, string(foldtest.Each)+" next at ") {
			got = append(got, line)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if c, _ := s.Definition().Consumer(foldtest.Each); !c.Concurrent() {
		want = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("revision %d: open runs stand elsewhere (-naive +state):\n%s", s.Head.Revision, diff)
	}
	return open
}

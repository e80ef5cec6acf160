package turn

import (
	"testing"
	"testing/synctest"
	"time"
)

// Where waiting uses up the time of the request itself, a turn in the last half of that time is too late: the call or
// the question is held back, and told when to come again.
func TestATurnLeavesTimeForTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(20*time.Second, 0)
		if _, failure := q.Take(t.Context(), of("w", "first")); failure != nil {
			t.Fatal(failure)
		}
		_, failure := q.Enter(within(t, 30*time.Second), of("w", "read"))
		wantHeldBack(t, failure, 20*time.Second)
		wantHeldBack(t, q.Ask(within(t, 30*time.Second), of("w", "q")), 20*time.Second)
		wantHeldBack(t, q.Ask(within(t, 30*time.Second), of("w", "q")), 20*time.Second) // also the one that is kept
		time.Sleep(6 * time.Second)
		if failure := q.Ask(within(t, 30*time.Second), of("w", "q")); failure != nil {
			t.Errorf("its turn comes after 14 s of 30 s, and: %s", failure.Message)
		}
		// A call whose own time has not begun may wait for all of it.
		if _, failure := q.Take(within(t, 30*time.Second), of("w", "call")); failure != nil {
			t.Error(failure)
		}
	})
}

// A call without a place waits for one in the first half of its time only.
func TestAPlaceLeavesTimeForTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, began := paced(0, 1), time.Now()
		if _, failure := q.Take(t.Context(), of("w", "open")); failure != nil {
			t.Fatal(failure)
		}
		_, failure := q.Enter(within(t, 30*time.Second), of("w", "read"))
		wantHeldBack(t, failure, again)
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it has waited for %s", took)
		}
	})
}

// One call that lasted long does not keep the next ones away for as long.
func TestALongCallDoesNotKeepTheNextAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(0, 1)
		a, _ := q.Take(t.Context(), of("w", "a"))
		time.Sleep(15 * time.Minute)
		a.End()
		if _, failure := q.Take(t.Context(), of("w", "b")); failure != nil {
			t.Fatal(failure)
		}
		for _, again := range []time.Duration{time.Second, 30 * time.Second, 59 * time.Second} {
			_, failure := q.Take(within(t, time.Second), of("w", "c")) // each waits for 1 s more
			wantHeldBack(t, failure, again)
		}
	})
}

// A question that comes late to the turn that was kept for it uses the rate when it leaves: the next call does not
// leave in the same instant.
func TestALateQuestionUsesTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(12*time.Minute, 0)
		if _, failure := q.Take(t.Context(), of("w", "a")); failure != nil {
			t.Fatal(failure)
		}
		wantHeldBack(t, q.Ask(within(t, 30*time.Second), of("w", "q")), 12*time.Minute)
		time.Sleep(26 * time.Minute)
		if failure := q.Ask(within(t, 30*time.Second), of("w", "q")); failure != nil {
			t.Fatal(failure)
		}
		_, failure := q.Take(within(t, 30*time.Second), of("w", "b"))
		wantHeldBack(t, failure, 12*time.Minute)
	})
}

// Calls that have got their turns and could not leave, for want of the log, do not all leave together after that.
func TestOldTurnsAreNotUsedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(100*time.Millisecond, 10)
		held := make([]*Turn, 10)
		for n := range held {
			held[n], _ = q.Take(t.Context(), of("w", "x"))
		}
		fresh := of("w", "x")
		fresh.Turn = held[9]
		if own, failure := q.Enter(within(t, 30*time.Second), fresh); own != held[9] {
			t.Errorf("a turn that is used at once is not the call's own: %+v", failure)
		}
		time.Sleep(8 * time.Second)
		began := time.Now()
		for n := range 9 {
			call := of("w", "x")
			call.Turn = held[n]
			own, failure := q.Enter(within(t, 30*time.Second), call)
			if failure != nil {
				t.Fatal(failure)
			}
			defer own.End()
			if took := time.Since(began); took != time.Duration(n)*100*time.Millisecond {
				t.Errorf("call %d leaves %s after the stall", n, took)
			}
		}
		if q.taken != 10 {
			t.Errorf("%d places are taken, want 10", q.taken)
		}
	})
}

// A late look does not slow a fast rate down; an idle time saves up no turn of a slow one.
func TestLateTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spacing, late, next time.Duration }{
		"a fast rate":         {time.Millisecond, 900 * time.Microsecond, 100 * time.Microsecond},
		"a slow rate":         {time.Hour, 10 * time.Millisecond, time.Hour - 10*time.Millisecond},
		"a slow rate at rest": {time.Hour, 50 * time.Minute, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := paced(c.spacing, 0)
			if _, failure := q.Take(t.Context(), of("w", "a")); failure != nil {
				t.Fatal(failure)
			}
			time.Sleep(c.spacing + c.late)
			if _, failure := q.Take(t.Context(), of("w", "b")); failure != nil {
				t.Fatal(failure)
			}
			began := time.Now()
			if _, failure := q.Take(t.Context(), of("w", "c")); failure != nil || time.Since(began) != c.next {
				t.Errorf("%s: the next turn comes after %s, want %s (%+v)", name, time.Since(began), c.next, failure)
			}
		})
	}
}

package turn

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

func paced(spacing time.Duration, places int) *Queue {
	return New(Bounds{Target: "a.example", Places: places, PlacesFrom: "places", Spacing: spacing, Rate: "1/x",
		RateFrom: "rate"})
}

func of(workflow eventlog.WorkflowName, key string) connector.Call {
	return connector.Call{Workflow: workflow, Run: eventlog.RunID(key), Key: key}
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func wantHeldBack(t *testing.T, f *eventlog.Failure, again time.Duration) {
	t.Helper()
	if f == nil || f.Code != eventlog.CodeHeldBack || f.RetryAfter != again {
		t.Errorf("%+v, want one held back for %s", f, again)
	}
}

// However many calls find no turn before their deadline, no turn is lost to those that ask later, and each refused one
// is told to come again at another time.
func TestRefusedCallsTakeNoTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(time.Second, 0)
		var calls sync.WaitGroup
		refused := make(chan time.Duration, 200)
		for n := range 200 {
			calls.Go(func() {
				if _, failure := q.Take(within(t, 3500*time.Millisecond), of("w", fmt.Sprint(n))); failure != nil {
					refused <- failure.RetryAfter
				}
			})
		}
		calls.Wait()
		close(refused)
		times := map[time.Duration]bool{}
		for again := range refused {
			times[again] = true
		}
		if len(times) != 196 {
			t.Errorf("calls are told to come again at %d different times, want 196 after 4 turns", len(times))
		}
		if _, failure := q.Take(within(t, 1500*time.Millisecond), of("w", "next")); failure != nil {
			t.Errorf("the next turn is gone: %v", failure.Message)
		}
	})
}

// Turns are spaced by the rate, however late each of them is used.
func TestTurnsAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, began := paced(time.Minute, 0), time.Now()
		for n := range 4 {
			if _, failure := q.Take(t.Context(), of("w", fmt.Sprint(n))); failure != nil {
				t.Fatal(failure)
			}
			if took := time.Since(began); took != time.Duration(n)*time.Minute {
				t.Errorf("turn %d comes after %s", n, took)
			}
		}
		time.Sleep(time.Hour) // turns that were not used are not kept
		began = time.Now()
		for range 2 {
			if _, failure := q.Take(t.Context(), of("w", "late")); failure != nil {
				t.Fatal(failure)
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("two turns after a pause took %s", took)
		}
	})
}

// Workflows have turns one after the other: one with a single call waits for one turn of another that has a hundred.
func TestWorkflowsShareTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(0, 1)
		first, _ := q.Take(t.Context(), of("many", "0"))
		order := make(chan string, 200)
		var calls sync.WaitGroup
		wait := func(w eventlog.WorkflowName, key string) {
			calls.Go(func() {
				own, failure := q.Take(t.Context(), of(w, key))
				if failure != nil {
					t.Error(failure)
					return
				}
				order <- key
				own.End()
				own.End() // only the first counts
			})
			synctest.Wait()
		}
		for n := range 100 {
			wait("many", fmt.Sprint("m", n))
		}
		wait("few", "f0")
		wait("few", "f1")
		if all := Waiting("few", q); len(all) != 2 || all[0].Bound != "at most 1 call at once" || !all[0].Until.IsZero() {
			t.Errorf("%+v", all)
		}
		first.End()
		calls.Wait()
		got := []string{<-order, <-order, <-order, <-order, <-order}
		if want := []string{"m0", "f0", "m1", "f1", "m2"}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("turns came as %v, want %v", got, want)
		}
		if len(order) != 97 || q.taken != 0 {
			t.Errorf("%d turns follow, and %d places are taken", len(order), q.taken)
		}
	})
}

// A call that gives up takes nothing with it, and is told when to come again by how long calls take.
func TestACallThatGivesUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(0, 2)
		a, _ := q.Take(t.Context(), of("w", "a"))
		time.Sleep(8 * time.Second)
		a.End()
		b, _ := q.Take(t.Context(), of("w", "b"))
		c, _ := q.Take(t.Context(), of("w", "c"))
		for _, again := range []time.Duration{time.Second, 4 * time.Second} { // they last 8 s, two at once
			_, failure := q.Take(within(t, time.Second), of("w", "d"))
			wantHeldBack(t, failure, again)
		}
		given, giveUp := context.WithCancel(t.Context())
		giveUp()
		if _, failure := q.Take(given, of("w", "e")); failure == nil || failure.Code != connector.CodeCancelled {
			t.Errorf("%+v", failure)
		}
		b.End()
		c.End()
		if q.taken != 0 || q.calls.n != 0 || len(q.calls.order) != 0 {
			t.Errorf("left behind: %+v", &q.calls)
		}
	})
}

// Questions and calls that wait for a rate take turns, so that neither keeps the other away. Questions need no place.
func TestQuestionsHaveEverySecondTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(time.Second, 2)
		if _, failure := q.Take(t.Context(), of("w", "open")); failure != nil {
			t.Fatal(failure)
		}
		order := make(chan string, 10)
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				if failure := q.Ask(t.Context(), of("w", fmt.Sprint("q", n))); failure == nil {
					order <- "question"
				}
			})
			all.Go(func() {
				if _, failure := q.Take(within(t, 10*time.Second), of("w", fmt.Sprint("c", n))); failure == nil {
					order <- "call"
				} else {
					order <- "no place"
				}
			})
		}
		all.Wait()
		close(order)
		got := ""
		for what := range order {
			got += what + ", "
		}
		// Of the calls one gets the second place; the questions go on without.
		if want := "question, call, question, question, no place, no place, "; got != want {
			t.Errorf("turns came as %s", got)
		}
	})
}

// A question that finds no turn within its time has one set aside: it comes again at that time and is sent, however
// many calls wait for turns, which are delayed by one.
func TestAQuestionIsHeldBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := paced(10*time.Minute, 0)
		if _, failure := q.Take(t.Context(), of("w", "first")); failure != nil {
			t.Fatal(failure)
		}
		sent := make(chan time.Duration, 10)
		began := time.Now()
		for n := range 3 {
			go func() {
				if _, failure := q.Take(t.Context(), of("w", fmt.Sprint(n))); failure == nil {
					sent <- time.Since(began)
				}
			}()
		}
		synctest.Wait()
		ask := func(key string) *eventlog.Failure { return q.Ask(within(t, 30*time.Second), of("w", key)) }
		wantHeldBack(t, ask("q"), 10*time.Minute)
		time.Sleep(5 * time.Minute)
		wantHeldBack(t, ask("q"), 5*time.Minute) // too early: the same turn is told again
		time.Sleep(5 * time.Minute)
		if failure := ask("q"); failure != nil {
			t.Errorf("its turn was set aside, and: %v", failure.Message)
		}
		for _, at := range []time.Duration{20 * time.Minute, 30 * time.Minute, 40 * time.Minute} {
			if got := <-sent; got != at {
				t.Errorf("a call was sent after %s, want %s", got, at)
			}
		}
		// The next question stands behind a call: the last turn before it may have been a question's.
		wantHeldBack(t, ask("q"), 10*time.Minute)
		if f := ask("other"); f == nil || f.RetryAfter == 10*time.Minute {
			t.Errorf("%+v: two questions are told the same turn", f)
		}
		time.Sleep(11 * time.Minute)
		if failure := ask("q"); failure != nil {
			t.Errorf("a little late, and: %v", failure.Message)
		}
	})
}

// Nothing is bounded by no queue.
func TestNoBounds(t *testing.T) {
	t.Parallel()
	var none *Queue
	if q := New(Bounds{Target: "a.example"}); q != none {
		t.Errorf("%+v", q)
	}
	own, failure := none.Enter(t.Context(), of("w", "a"))
	if failure != nil || none.Ask(t.Context(), of("w", "a")) != nil || Waiting("w", none) != nil {
		t.Errorf("%+v", failure)
	}
	own.End()
}

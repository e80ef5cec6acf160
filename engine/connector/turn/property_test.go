package turn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Whatever comes, whenever, and comes again when it is told to: no two turns are closer than the rate says, but for
// what the first of them was late, no more places are taken than there are, and at the end nothing is left behind.
func TestWhateverComes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 7))
			spacing := []time.Duration{0, 50 * time.Millisecond, time.Second, 40 * time.Second}[chance.IntN(4)]
			places := []int{0, 1, 3}[chance.IntN(3)]
			q := paced(spacing, places)
			if q == nil {
				return
			}
			var mu sync.Mutex
			var turns []time.Time
			open, most := 0, 0
			took := func(call bool) {
				mu.Lock()
				defer mu.Unlock()
				turns = append(turns, time.Now())
				if call {
					open++
					most = max(most, open)
				}
			}
			ended := func() {
				mu.Lock()
				defer mu.Unlock()
				open--
			}
			var all sync.WaitGroup
			for n := range 40 + chance.IntN(60) {
				if chance.IntN(2) == 0 {
					time.Sleep(time.Duration(chance.Int64N(int64(max(2*spacing, 100*time.Millisecond)))))
				}
				call := of(eventlog.WorkflowName(fmt.Sprint("w", chance.IntN(4))), fmt.Sprint(n))
				patience := time.Duration(chance.Int64N(int64(time.Minute)))
				lasts := time.Duration(chance.Int64N(int64(3 * time.Second)))
				question := chance.IntN(3) == 0
				tries := 1 + chance.IntN(4)
				all.Go(func() {
					for range tries {
						ctx, cancel := context.WithTimeout(context.Background(), patience)
						var failure *eventlog.Failure
						var turn *Turn
						if question {
							failure = q.Ask(ctx, call)
						} else {
							turn, failure = q.Take(ctx, call)
						}
						if failure == nil {
							took(!question)
							if !question {
								time.Sleep(lasts)
								ended()
								turn.End()
							}
							cancel()
							return
						}
						cancel()
						if failure.RetryAfter < again {
							t.Errorf("seed %d: told to come again after %s", seed, failure.RetryAfter)
						}
						time.Sleep(failure.RetryAfter)
					}
				})
			}
			all.Wait()
			slices.SortFunc(turns, time.Time.Compare)
			for i := 1; i < len(turns) && spacing > 0; i++ {
				if gap := turns[i].Sub(turns[i-1]); gap < spacing-latest {
					t.Errorf("seed %d: two turns are %s apart, the rate is one in %s", seed, gap, spacing)
					break
				}
			}
			if places > 0 && most > places {
				t.Errorf("seed %d: %d places are taken of %d", seed, most, places)
			}
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.taken != 0 || q.calls.n != 0 || q.questions.n != 0 || len(q.calls.order) != 0 || len(q.questions.of) != 0 {
				t.Errorf("seed %d: left behind", seed)
			}
		})
	}
}

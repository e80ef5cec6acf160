package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// callCanary runs a call of a harmless workflow, with a read in it, and tells how long it took.
func callCanary(ctx context.Context, e sandbox.Executor) (time.Duration, error) {
	call := invocationOf(sandbox.Prepare, `const [m] = await ctx.mail.search({}); return m.id`)
	call.Workflow = "canary"
	start := time.Now()
	r, err := e.Invoke(ctx, call, world)
	if err != nil || string(r.Value) != `"m1"` {
		return 0, fmt.Errorf("the harmless workflow answered %s: %w", r.Value, err)
	}
	return time.Since(start), nil
}

func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	took = slices.Sorted(slices.Values(took))
	return took[len(took)/2], took[len(took)*99/100]
}

// flood runs the corpus round and round in so many workflows until the result is called.
func flood(t testing.TB, p *Pool, workflows int, limits sandbox.Limits) (end func() (attacks int)) {
	all := slices.DeleteFunc(attacks(t), func(a attack) bool { return a.in == "describe" })
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	counts := make([]int, workflows)
	for i := range workflows {
		wg.Go(func() {
			for n := i * len(all) / workflows; ctx.Err() == nil; n++ {
				a := all[n%len(all)]
				call := invocationOf(sandbox.Phase(a.in), a.text)
				call.Workflow, call.Limits = fmt.Sprint("attacker", i), limits
				_, _ = p.Invoke(ctx, call, world) // how each ends is for another test
				counts[i]++
			}
		})
	}
	return func() int {
		cancel()
		wg.Wait()
		total := 0
		for _, n := range counts {
			total += n
		}
		return total
	}
}

// TestCanaryUnderFlood: while attackers keep every place busy, a harmless workflow gets all of its
// calls answered, with one place and with two.
func TestCanaryUnderFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it floods the pool for seconds")
	}
	t.Parallel()
	for _, size := range []int{1, 2} {
		t.Run(fmt.Sprint("places=", size), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, Config{Size: size})
			end := flood(t, p, 4, sandbox.Limits{CPU: 50 * time.Millisecond})
			for range 30 {
				if _, err := callCanary(t.Context(), p); err != nil {
					t.Error(err)
					break
				}
			}
			t.Logf("%d attacks during 30 calls", end())
		})
	}
}

// BenchmarkCanary measures how long the calls of a harmless workflow take, alone and while four
// attackers run the corpus beside it.
func BenchmarkCanary(b *testing.B) {
	for _, size := range []int{1, 2} {
		for _, attackers := range []int{0, 4} {
			b.Run(fmt.Sprintf("places=%d/attackers=%d", size, attackers), func(b *testing.B) {
				p := newPool(b, Config{Size: size})
				end := flood(b, p, attackers, sandbox.Limits{CPU: 100 * time.Millisecond})
				var took []time.Duration
				for b.Loop() {
					elapsed, err := callCanary(b.Context(), p)
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, elapsed)
				}
				attacks := end()
				p50, p99 := percentiles(took)
				b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
				b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
				b.ReportMetric(float64(attacks), "attacks")
			})
		}
	}
}

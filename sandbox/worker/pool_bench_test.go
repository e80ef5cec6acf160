package worker

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// computed is the processor time of this process and of a pool's workers; p may be nil.
func computed(p *Pool) (total time.Duration) {
	if own := cputime.Own(); own != nil {
		total = own()
	}
	if p != nil {
		for _, w := range p.Report().Workers {
			cpu, _ := cputime.Of(w.PID)
			total += cpu
		}
	}
	return total
}

// BenchmarkExecutors runs the four handlers of the documented example in turn, from as many callers
// as scripts may compute at once, each with a workflow of its own, and reports the calls per second,
// how long one takes and what it costs of all processors.
func BenchmarkExecutors(b *testing.B) {
	for _, callers := range []int{1, 2} {
		for _, workers := range []bool{false, true} {
			name := "here"
			if workers {
				name = "workers"
			}
			for _, reads := range []bool{false, true} {
				which := []sandbox.Invocation{exampleCall(b, sandbox.Producer)} // which reads
				if !reads {
					which = []sandbox.Invocation{exampleCall(b, sandbox.Prepare), exampleCall(b, sandbox.Mutate),
						exampleCall(b, sandbox.Next)}
				}
				b.Run(fmt.Sprintf("%s=%d/reads=%t", name, callers, reads), func(b *testing.B) {
					var e sandbox.Executor = vm.NewExecutor(vm.Config{})
					var pool *Pool
					if workers {
						pool = newPool(b, Config{Size: callers})
						e = pool
					}
					var mu sync.Mutex
					var took []time.Duration
					var wg sync.WaitGroup
					before := computed(pool)
					b.ResetTimer()
					for caller := range callers {
						wg.Go(func() {
							own := make([]time.Duration, 0, b.N/callers+1)
							for i := range b.N / callers {
								call := which[i%len(which)]
								call.Workflow = fmt.Sprint("w", caller)
								start := time.Now()
								if _, err := e.Invoke(b.Context(), call, exampleHost); err != nil {
									b.Error(err)
									return
								}
								own = append(own, time.Since(start))
							}
							mu.Lock()
							took = append(took, own...)
							mu.Unlock()
						})
					}
					wg.Wait()
					b.StopTimer()
					if len(took) == 0 {
						return
					}
					cost := computed(pool) - before
					p50, p99 := percentiles(took)
					b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "calls/s")
					b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
					b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
					b.ReportMetric(float64(cost.Microseconds())/float64(len(took)), "cpu-µs/call")
				})
			}
		}
	}
}

// BenchmarkColdStart measures from exec to a worker that has answered its first call, and the private
// memory that it holds then.
func BenchmarkColdStart(b *testing.B) {
	newPool(b, Config{Size: 1}) // builds the worker
	var memory int64
	for b.Loop() {
		p := newPool(b, Config{Size: 1})
		if _, err := p.Invoke(b.Context(), invocationOf(sandbox.Prepare, "return 1"), world); err != nil {
			b.Fatal(err)
		}
		memory = p.Report().Workers[0].Memory
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(memory)/(1<<20), "MiB/worker")
}

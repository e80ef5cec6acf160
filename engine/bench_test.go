package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
)

// BenchmarkRun is one event from push to commit, with its empty run after, on a log in memory:
// what the engine itself costs.
func BenchmarkRun(b *testing.B) {
	bench := enginetest.New(b)
	e := bench.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.MustPush("orders", "order.in", fmt.Sprint(i))
		e.Rest("orders")
	}
}

// BenchmarkBacklog is one event of a workflow that has thousands pending: what a run costs must not
// grow with what waits behind it.
func BenchmarkBacklog(b *testing.B) {
	for _, backlog := range []int{10, 5000} {
		b.Run(fmt.Sprint(backlog), func(b *testing.B) {
			bench := enginetest.New(b)
			e := bench.Start()
			e.MustDeploy(ordersWorkflow)
			e.Rest("orders")
			gate := make(chan struct{})
			bench.World.OnPerform(func(_ context.Context, call connector.Call) connector.Outcome {
				<-gate
				return bench.World.Apply(call)
			})
			var ids []string
			for i := range backlog + b.N {
				ids = append(ids, fmt.Sprint(i))
			}
			for part := range slices.Chunk(ids, 1000) {
				e.MustPush("orders", "order.in", part...)
			}
			b.ResetTimer()
			for range b.N {
				gate <- struct{}{}
			}
			b.StopTimer()
			close(gate)
			bench.World.OnPerform(nil)
			_ = e.Stop()
		})
	}
}

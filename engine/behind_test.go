package engine

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/process"
)

// An engine that hands a partition over has read all of it until then: it is not behind by the time for which it has
// owned it.
func TestAnEngineThatHandsAPartitionOverIsNotBehind(t *testing.T) {
	t.Parallel()
	p := &partition{process: &process.Process{Config: Config{Leases: &lease.Keeper{}}}}
	p.freshAt.Store(int64(clock.Elapsed() - time.Hour)) // then it has taken the partition
	p.owned.Store(&process.Tenure{})
	ctx, end := context.WithCancel(t.Context())
	end() // it looks once
	p.watchHead(ctx)
	p.owned.Store(nil)
	if behind := p.behindBy(); behind != 0 {
		t.Errorf("right after it has handed the partition over it is behind by %s", behind)
	}
}

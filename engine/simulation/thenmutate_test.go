package simulation_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/simulation"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// Whether a worker calls mutate with its prepare or leaves it to the engine, the same seed is the same history.
func TestMutateWithItsPrepareIsTheSameHistory(t *testing.T) {
	t.Parallel()
	count := uint64(20)
	if testing.Short() {
		count = 4
	}
	if *seeds != 0 {
		count = *seeds
	}
	followed := 0
	for n := range count {
		var together, apart []string
		cfg := simulation.Config{Seed: *first + n, Trace: func(line string) {
			without, follows := strings.CutSuffix(line, simulation.AndMutates)
			if together = append(together, without); follows {
				followed++
			}
		}}
		if _, err := simulate(t, cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Trace = func(line string) { apart = append(apart, line) }
		cfg.Scripts = func(x sandbox.Executor) sandbox.Executor { return leaving{x} }
		if _, err := simulate(t, cfg); err != nil {
			t.Fatal(err)
		}
		for i := range min(len(together), len(apart)) {
			if together[i] != apart[i] {
				t.Fatalf("seed %d has two histories; they part at line %d\n%s\n%s", cfg.Seed, i, together[i], apart[i])
			}
		}
		if len(together) != len(apart) {
			t.Errorf("seed %d has a history of %d lines and one of %d", cfg.Seed, len(together), len(apart))
		}
	}
	if followed == 0 {
		t.Error("no prepare was followed by its mutate in the same call")
	}
}

// leaving leaves every mutate to its caller.
type leaving struct{ sandbox.Executor }

func (x leaving) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	call.ThenMutate = false
	return x.Executor.Invoke(ctx, call, host)
}

// TestBugsOfMutateWithItsPrepareAreFound does what TestBugsAreFound does for a mutate that was called with its prepare.
func TestBugsOfMutateWithItsPrepareAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its bugs check the simulation, not the engine")
	}
	t.Parallel()
	for _, bug := range []struct {
		name string
		// sign is in the message of some seed's violation.
		sign string
		cfg  simulation.Config
	}{
		{"the mutate of an earlier prepare is used again", "which run",
			simulation.Config{Scripts: func(x sandbox.Executor) sandbox.Executor { return &repeating{Executor: x} }}},
		{"a mutate that was called is called again", "is called again",
			simulation.Config{Scripts: func(x sandbox.Executor) sandbox.Executor { return unheard{x} }}},
		{"a failure of mutate taken for one of prepare", "and the run is in preparing",
			simulation.Config{Scripts: func(x sandbox.Executor) sandbox.Executor { return mistaken{x} }}},
		{"a call sent although the choice of its prepare does not hold", "has not reserved (R9)",
			simulation.Config{Decide: afterwards(sendRefused)}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			cfg := bug.cfg
			cfg.Focus = simulation.Anything
			mustFind(t, cfg, bug.sign, 1, 600)
		})
	}
}

// repeating tells with each prepare how the mutate of the first one ended.
type repeating struct {
	sandbox.Executor
	mu    sync.Mutex
	first *sandbox.MutateResult
}

func (x *repeating) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	result, err := x.Executor.Invoke(ctx, call, host)
	x.mu.Lock()
	defer x.mu.Unlock()
	if result.Mutate != nil && x.first != nil {
		result.Mutate = x.first
	} else if result.Mutate != nil {
		x.first = result.Mutate
	}
	return result, err
}

// unheard does not tell how the mutate of a prepare ended.
type unheard struct{ sandbox.Executor }

func (x unheard) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	result, err := x.Executor.Invoke(ctx, call, host)
	result.Mutate = nil
	return result, err
}

// mistaken tells a failure of mutate as one of the whole call.
type mistaken struct{ sandbox.Executor }

func (x mistaken) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	result, err := x.Executor.Invoke(ctx, call, host)
	if result.Mutate != nil && result.Mutate.Failure != nil {
		return sandbox.Result{}, result.Mutate.Failure
	}
	return result, err
}

// sendRefused starts the call of a prepare whose choice was refused.
func sendRefused(s *projections.State, env decide.Env, cmd decide.Command, facts []eventlog.Fact) []eventlog.Fact {
	c, ok := cmd.(decide.FinishPrepare)
	if !ok || c.Failure != nil || c.Mutate == nil || c.Mutate.Call == nil || c.Mutate.Failure != nil ||
		slices.ContainsFunc(facts, func(f eventlog.Fact) bool { return f.FactType() == "run.prepared" }) {
		return facts
	}
	id := eventlog.MutationID(c.Run)
	return []eventlog.Fact{&eventlog.RunPrepared{Run: c.Run, Result: c.Prepared.Raw},
		&eventlog.RunAdvanced{Run: c.Run, Phase: eventlog.PhaseMutating},
		&eventlog.MutationStarted{Mutation: id, Run: c.Run, Call: *c.Mutate.Call, Engine: env.Engine,
			Key: decide.IdempotencyKey(s.Name, id), Deadline: env.Now.Add(time.Second)}}
}

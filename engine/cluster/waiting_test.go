package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// ordersOf is what deploys the workflow.
func ordersOf(workflow string) engine.DeployRequest {
	return engine.DeployRequest{Source: strings.Replace(orders, "NAME", workflow, 1), Filename: "w.js", GrantUsed: true}
}

// The owner is killed. What is written through another engine waits for the next owner for as long as is promised, the
// first time too, and is answered that nothing was recorded; sent again, it is recorded by the engine that takes over.
func TestAWriteWaitsForAnOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		a, owner := startWith(t, between, 1, log, nil)
		if result, err := a.Deploy(t.Context(), enginetest.Tester, ordersOf("w")); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		b, _ := startWith(t, between, 2, log, nil)
		<-time.After(10 * time.Second) // in the time of the bubble: b knows a
		owner.Kill()
		push := func() (time.Duration, error) {
			began := time.Now()
			_, err := b.Push(t.Context(), enginetest.Tester, "w", "in",
				[]decide.PushItem{{MessageID: "order", Title: "Order", Payload: json.RawMessage(`{}`)}})
			return time.Since(began), err
		}
		took, err := push()
		if !errors.Is(err, engine.ErrNoOwner) || took < engine.OwnerTimeout || took > engine.OwnerTimeout+time.Second {
			t.Errorf("right after the kill: %v, after %s; want ErrNoOwner after %s", err, took, engine.OwnerTimeout)
		}
		if took, err = push(); err != nil || took < time.Second || took > engine.OwnerTimeout {
			t.Errorf("sent again: %v, after %s", err, took)
		}
		if !b.Partitions()[0].Owned {
			t.Error("the other engine does not own the partition")
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}

// asking notes in which epochs the owner is asked.
type asking struct {
	*network.Link
	epochs []uint64
}

func (a *asking) Ask(ctx context.Context, partition int, epoch uint64, request []byte) ([]byte, error) {
	a.epochs = append(a.epochs, epoch)
	return a.Link.Ask(ctx, partition, epoch, request)
}

// Requests go to the owner of the epoch that the lease names, so none goes to an engine that owned the partition before
// and stands still; and none goes to an owner whose lease is over.
func TestTheOwnerOfTheEpochIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		_, owner := startWith(t, between, 1, log, nil)
		<-time.After(10 * time.Second) // in the time of the bubble: it owns the partition
		var peers asking
		b, _ := startWith(t, between, 2, log, nil, func(c *engine.Config) {
			peers.Link = c.Peers.(*network.Link)
			c.Peers = &peers
		})
		<-time.After(10 * time.Second)
		if result, err := b.Deploy(t.Context(), enginetest.Tester, ordersOf("w")); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		if len(peers.epochs) != 1 || peers.epochs[0] != 1 {
			t.Errorf("the owner was asked in the epochs %v, want 1 alone", peers.epochs)
		}
		owner.Kill()
		<-time.After(16 * time.Second)
		if _, err := b.Push(t.Context(), enginetest.Tester, "w", "in",
			[]decide.PushItem{{MessageID: "order", Title: "Order", Payload: json.RawMessage(`{}`)}}); err != nil {
			t.Errorf("push: %v", err)
		}
		if len(peers.epochs) != 1 {
			t.Errorf("after the end of its lease the owner was asked again: %v", peers.epochs)
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}

// late is a log of which an engine reads what others write only some time after.
type late struct {
	*memlog.Log
	by time.Duration
}

func (l late) Watch(ctx context.Context, p int, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range l.Log.Watch(ctx, p, from) {
			select {
			case <-time.After(l.by):
			case <-ctx.Done():
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// A deploy through an engine that reads late what the owner records, as after a restart of a node, is answered once it
// has read that. A caller that does not wait so long is told that it is recorded.
func TestADeployIsAnsweredByAnEngineThatIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		startWith(t, between, 1, log, nil)
		<-time.After(10 * time.Second) // in the time of the bubble: it owns the partition
		b, _ := startWith(t, between, 2, late{log, 4 * time.Second}, nil)
		<-time.After(10 * time.Second)
		result, err := b.Deploy(t.Context(), enginetest.Tester, ordersOf("w"))
		if err != nil || result.Version != "1.0" || !result.Created {
			t.Errorf("deploy: %+v, %v", result, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err = b.Deploy(ctx, enginetest.Tester, ordersOf("other")); !errors.Is(err, engine.ErrNotRead) ||
			!errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("a deploy whose caller waits for 2 s: %v", err)
		}
		<-time.After(10 * time.Second)
		if s, ok := b.State("other"); !ok || s.Version != "1.0" {
			t.Errorf("what was answered as recorded is not there: %+v", s)
		}
	})
}

// A caller without a deadline does not wait for an engine that has ended before it has read its deploy.
func TestADeployEndsWithItsEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		startWith(t, between, 1, log, nil)
		<-time.After(10 * time.Second) // in the time of the bubble: it owns the partition
		b, _ := startWith(t, between, 2, late{log, time.Hour}, nil)
		<-time.After(10 * time.Second)
		deployed := make(chan error, 1)
		go func() {
			_, err := b.Deploy(context.WithoutCancel(t.Context()), enginetest.Tester, ordersOf("w"))
			deployed <- err
		}()
		<-time.After(10 * time.Second)
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-deployed:
			if !errors.Is(err, engine.ErrNotRead) || !errors.Is(err, eventlog.ErrClosed) {
				t.Errorf("deploy: %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the deploy is not answered")
		}
		between.Close()
		<-time.After(time.Second) // what the compiler of scripts has begun ends
	})
}

// A repair through such an engine is answered with the version that it has made.
func TestARepairIsAnsweredByAnEngineThatIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between, log := network.New(15*time.Second), memlog.New(memlog.Config{})
		a, _ := startWith(t, between, 1, log, nil)
		broken := ordersOf("w")
		broken.Source = strings.Replace(broken.Source, `const [event] = await ctx.peek("in");`,
			`throw new Error("no"); const [event] = [];`, 1)
		if result, err := a.Deploy(t.Context(), enginetest.Tester, broken); err != nil || result.Refused {
			t.Fatalf("deploy: %v, %+v", err, result.Problems)
		}
		b, _ := startWith(t, between, 2, late{log, 4 * time.Second}, nil)
		<-time.After(20 * time.Second) // in the time of the bubble: it has read that the workflow waits for a repair
		result, err := b.Repair(t.Context(), enginetest.Tester, "w",
			engine.RepairRequest{Source: ordersOf("w").Source, Filename: "w.js"})
		if err != nil || result.Version != "1.1" || !result.Changed {
			t.Errorf("repair: %+v, %v", result, err)
		}
	})
}

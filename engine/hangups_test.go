package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// lateLog answers each append after a drawn moment, unless its context ends first.
type lateLog struct{ eventlog.Log }

func (l lateLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	written, err := l.Log.Append(context.WithoutCancel(ctx), e)
	answer := time.NewTimer(time.Duration(rand.IntN(2000)) * time.Microsecond)
	defer answer.Stop()
	select {
	case <-answer.C:
		return written, err
	case <-ctx.Done():
		return eventlog.Written{}, fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, context.Cause(ctx))
	}
}

// Two hundred clients push, pause and resume, and hang up at drawn moments: before their command is
// decided, while it is on its way, while the answer is. Every event that was acknowledged or is in the log
// is processed, once; the checkpoint reaches the head, and memory keeps nothing of it.
func TestClientsThatHangUp(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) eventlog.Log{
		"in memory": func(*testing.T) eventlog.Log { return lateLog{memlog.New(memlog.Config{Partitions: 2})} },
		"on JetStream": func(t *testing.T) eventlog.Log {
			log, err := jslog.Open(t.Context(), natstest.Connect(t, natstest.NewServer(t, natstest.Fast)), jslog.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = log.Close() })
			return log
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const clients, workflows, commands = 200, 50, 2
			b := enginetest.NewOn(t, open(t))
			e := b.Start()
			named := func(n int) eventlog.WorkflowName { return eventlog.WorkflowName(fmt.Sprintf("orders%d", n)) }
			for n := range workflows {
				e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, fmt.Sprintf("%q", named(n)), 1))
			}
			var mu sync.Mutex
			acknowledged, answers := map[eventlog.WorkflowName][]eventlog.MessageID{}, map[string]int{}
			command := func(ctx context.Context, client, n int) error {
				w := named(client % workflows)
				switch rand.IntN(20) {
				case 0:
					return e.Operate(ctx, enginetest.Tester, w, decide.Pause{}, "pause")
				case 1:
					return e.Operate(ctx, enginetest.Tester, w, decide.Resume{}, "resume")
				}
				id := eventlog.MessageID(fmt.Sprintf("c%d-%d", client, n))
				_, err := e.Push(ctx, enginetest.Tester, w, "order.in",
					[]decide.PushItem{{MessageID: id, Title: "Order", Payload: fmt.Appendf(nil, `{"id":%q}`, id)}})
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					acknowledged[w] = append(acknowledged[w], id)
				}
				return err
			}
			var all sync.WaitGroup
			for client := range clients {
				all.Go(func() {
					for n := range commands {
						deadline := time.Minute // some wait
						if (client+n)%4 != 0 {
							deadline = time.Duration(1+rand.IntN(1<<(10+rand.IntN(8)))) * time.Microsecond
						}
						ctx, hangUp := context.WithTimeout(t.Context(), deadline)
						err := command(ctx, client, n)
						hangUp()
						answer := "done"
						var refusal *decide.Refusal
						switch {
						case errors.Is(err, engine.ErrUnknownOutcome):
							answer = "not known"
						case errors.Is(err, engine.ErrNothingRecorded):
							answer = "nothing recorded"
						case errors.As(err, &refusal): // it is paused already, or not
							answer = "refused"
						case err != nil:
							t.Errorf("a command ended with %v", err)
						}
						mu.Lock()
						answers[answer]++
						mu.Unlock()
					}
				})
			}
			all.Wait()
			e.Rest(named(0))
			covered := func() {
				t.Helper()
				if err := e.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				for p := range b.Log.Partitions() {
					last, err := b.Log.Last(t.Context(), p)
					if cp, _, cpErr := b.Store.Checkpoint(p); err != nil || cpErr != nil || cp.Seq != last ||
						e.ProcessedSeq(p) != last {
						t.Fatalf("partition %d: the checkpoint is %d, reached is %d, the log ends at %d (%v, %v)", p, cp.Seq,
							e.ProcessedSeq(p), last, err, cpErr)
					}
				}
				if ahead, dirty := e.Held(); ahead != 0 || dirty != 0 {
					t.Errorf("memory holds %d positions and %d entities that nothing covers", ahead, dirty)
				}
			}
			covered() // before anything else is asked, which would settle what others have left
			for n := range workflows {
				if full := b.FullFold(named(n)); full.Pause == nil {
					continue
				}
				if err := e.Operate(t.Context(), enginetest.Tester, named(n), decide.Resume{}, "resume"); err != nil {
					t.Fatal(err)
				}
			}
			events := 0
			for n := range workflows {
				w := named(n)
				e.Rest(w)
				full := b.FullFold(w)
				for _, event := range full.Events() {
					if event.Topic != "order.in" {
						continue
					}
					if events++; event.Status != eventlog.EventStatusConsumed {
						t.Errorf("%s: event %s is %s", w, event.MessageID, event.Status)
					}
				}
				for _, id := range acknowledged[w] {
					if full.Event("order.in", id) == nil {
						t.Errorf("%s: event %s was acknowledged and is not in the log", w, id)
					}
				}
			}
			if got := len(b.World.Effects()); got != events || len(b.World.Twice()) > 0 {
				t.Errorf("%d effects of %d events, twice %v", got, events, b.World.Twice())
			}
			covered()
			if answers["done"] == 0 || answers["not known"] == 0 {
				t.Errorf("the clients did not hang up at all moments: %v", answers)
			}
			t.Logf("%d events, answers %v", events, answers)
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			for n := range workflows {
				b.MustAgree(named(n))
			}
		})
	}
}

package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// besideWorkflow has the plain consumer send, and the concurrent consumer note, which takes its event and changes
// nothing outside.
const besideWorkflow = `
export default Keep.workflow({
  name: "orders",
  topics: { "order.in": {}, "note.in": {} },
  consumers: {
    send: Keep.consumer({
      subscribe: ["order.in"],
      async prepare(ctx) {
        const [event] = await ctx.peek("order.in");
        if (!event) return { reservations: [], data: {} };
        return { reservations: [{ topic: event.topic, ids: [event.messageId] }], data: { order: event.payload.id } };
      },
      async mutate(ctx, prepared) { await ctx.world.send({ order: prepared.data.order }); },
    }),
` + besideConsumer + `  },
});`

const besideConsumer = `    note: Keep.consumer({
      concurrency: 2, subscribe: ["note.in"],
      async prepare(ctx) {
        const [event] = await ctx.peek("note.in");
        return { reservations: [{ topic: event.topic, ids: [event.messageId] }], data: {} };
      },
    }),
`

var withoutNote = strings.Replace(besideWorkflow, besideConsumer, "", 1)

// barred runs scripts whose prepare waits before it begins, until its handler is let in. Not even the end of its
// context lets it go on.
type barred struct {
	sandbox.Executor
	begun map[string]chan struct{} // by handler: it has a value for each prepare that waits, or has waited
	letIn map[string]chan struct{}
}

func (s *barred) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	if call.Phase == sandbox.Prepare {
		s.begun[call.Handler] <- struct{}{}
		<-s.letIn[call.Handler]
	}
	return s.Executor.Invoke(ctx, call, host)
}

// startBarred starts an engine in which besideWorkflow is deployed and has looked around once.
func startBarred(t *testing.T, inTurn bool) (*enginetest.Harness, *enginetest.Engine, *barred) {
	b := enginetest.New(t)
	scripts := &barred{Executor: vm.NewExecutor(vm.Config{}), begun: map[string]chan struct{}{},
		letIn: map[string]chan struct{}{}}
	for _, handler := range []string{"send", "note"} {
		scripts.begun[handler], scripts.letIn[handler] = make(chan struct{}, 100), make(chan struct{}, 1)
	}
	t.Cleanup(func() { _ = scripts.Close() })
	b.Scripts, b.Config.InTurn, b.Config.FlushEvery = scripts, inTurn, time.Hour
	e := b.Start()
	e.MustDeploy(besideWorkflow)
	<-scripts.begun["send"]
	scripts.letIn["send"] <- struct{}{}
	e.Rest("orders")
	return b, e, scripts
}

// deployPlain deploys the workflow without its concurrent consumer, and waits until nothing can go on.
func deployPlain(t *testing.T, e *enginetest.Engine) {
	t.Helper()
	e.MustDeploy(withoutNote)
	synctest.Wait()
	if s, _ := e.State("orders"); len(s.Definition().Consumers) != 1 {
		t.Fatalf("the consumers are %+v, want send alone", s.Definition().Consumers)
	}
}

// sent checks that the orders have been sent, each once, and that the workflow rests.
func sent(t *testing.T, b *enginetest.Harness, e *enginetest.Engine, orders ...eventlog.MessageID) {
	t.Helper()
	e.Rest("orders")
	if got := b.World.Effects(); len(got) != len(orders) || len(b.World.Twice()) > 0 {
		t.Errorf("effects %v, want one for each of %v", got, orders)
	}
	full := b.FullFold("orders")
	for _, id := range orders {
		if event := full.Event("order.in", id); event.Status != eventlog.EventStatusConsumed {
			t.Errorf("event %s is %s", id, event.Status)
		}
	}
}

// C1: a deploy that takes the last concurrent consumer away leaves the script of a plain run at work in a goroutine of
// its own. The runner waits for that one, and does not call it again beside itself.
func TestC1_ADeployLeavesTheScriptOfAPlainRunAlone(t *testing.T) {
	for name, inTurn := range map[string]bool{"beside each other": false, "in turn": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b, e, scripts := startBarred(t, inTurn)
				defer func() { _ = e.Stop() }()
				defer close(scripts.letIn["send"])
				e.MustPush("orders", "order.in", "a")
				<-scripts.begun["send"]
				deployPlain(t, e)
				if again := len(scripts.begun["send"]); again != 0 {
					t.Errorf("prepare has begun %d more times while it is at work", again)
				}
				moment, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if e.WaitIdle(moment) == nil {
					t.Error("the engine is idle while prepare is at work")
				}
				scripts.letIn["send"] <- struct{}{}
				<-scripts.begun["send"] // it looks whether more is left
				scripts.letIn["send"] <- struct{}{}
				sent(t, b, e, "a")
				if again := len(scripts.begun["send"]); again != 0 {
					t.Errorf("prepare has begun %d more times than it is owed", again)
				}
			})
		})
	}
}

// C8: a script that does not end with its run, and is left at work after its consumer is gone, keeps no plain run from
// its work. The workflow comes to rest once that script has ended.
func TestC8_AScriptThatIsLeftKeepsNoPlainRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e, scripts := startBarred(t, false)
		defer func() { _ = e.Stop() }()
		letSend := sync.OnceFunc(func() { close(scripts.letIn["send"]) })
		defer letSend()
		defer close(scripts.letIn["note"])
		e.MustPush("orders", "note.in", "n")
		<-scripts.begun["note"]
		if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.SkipEvent{Topic: "note.in", MessageID: "n"},
			"skip"); err != nil {
			t.Fatal(err)
		}
		deployPlain(t, e)
		letSend()
		e.MustPush("orders", "order.in", "a")
		synctest.Wait()
		if got := b.World.Effects(); len(got) != 1 {
			t.Errorf("effects %v beside the script that is left, want one", got)
		}
		scripts.letIn["note"] <- struct{}{}
		sent(t, b, e, "a")
	})
}

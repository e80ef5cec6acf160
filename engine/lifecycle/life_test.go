package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// life is one workflow's life: what outlives an engine, and the engine of the moment.
type life struct {
	t      *testing.T
	bench  *enginetest.Harness
	world  *enginetest.World
	clock  *clock.Manual
	below  eventlog.Log
	log    *enginetest.CrashLog
	engine *enginetest.Engine
	client *rpc.Client
	// workers run the scripts; nil where this process does.
	workers *worker.Pool
	close   func()
	full    atomic.Bool // no room on the disk
	good    shop        // what a deploy or repair that `why` offers puts in

	mu     sync.Mutex
	sent   map[string]int // calls that left, by idempotency key
	order  []string
	asked  int // reconciles
	script []outcome
	rule   outcome           // of calls for which the script has nothing
	killAt eventlog.FactType // the process dies when it has recorded this kind
	slowAt eventlog.FactType // the append of this kind takes longer than storage may, once
}

// outcome is what becomes of one call.
type outcome func(w *enginetest.World, call connector.Call) connector.Outcome

func applied(w *enginetest.World, call connector.Call) connector.Outcome { return w.Apply(call) }

// definitely is a call that did not happen, and the world says so.
func definitely(class eventlog.Class) outcome {
	return func(*enginetest.World, connector.Call) connector.Outcome {
		return connector.Outcome{Status: connector.Failed, Failure: enginetest.Failing(class, "world.refused")}
	}
}

// lost is a call of which the engine does not learn whether it happened; it did not.
func lost(*enginetest.World, connector.Call) connector.Outcome {
	return connector.Outcome{Status: connector.Uncertain, Failure: enginetest.Failing(eventlog.Transient, "call.timeout")}
}

// unsure is a call to which the world has answered that it does not know whether it happened; it did not.
func unsure(*enginetest.World, connector.Call) connector.Outcome {
	return connector.Outcome{Status: connector.Uncertain, Failure: enginetest.Failing(eventlog.Transient, "call.timeout"),
		Answered: true}
}

// lostApplied is a call that happened, and whose answer was lost.
func lostApplied(w *enginetest.World, call connector.Call) connector.Outcome {
	w.Apply(call)
	return lost(w, call)
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// broker is shared by all tests: each has a prefix of its own.
var (
	broker *embeddednats.Server
	lives  atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "lifecycle")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		workerPath = sync.OnceValues(func() (string, error) { return buildWorker(dir) })
		cfg := embeddednats.Config{StoreDir: dir}
		natstest.Fast(&cfg)
		if broker, err = embeddednats.Start(context.Background(), cfg); err != nil {
			panic(err)
		}
		defer broker.Shutdown()
		return m.Run()
	}())
}

// live starts a life without workflows. Policies are the default ones unless changed.
func live(t *testing.T, change ...func(*schedule.Policies)) *life {
	t.Helper()
	t.Parallel()
	return liveUnder(t, change...)
}

// liveUnder is live for a test that has said already whether it runs in parallel.
func liveUnder(t *testing.T, change ...func(*schedule.Policies)) *life {
	t.Helper()
	return liveOn(t, newLog(t), change...)
}

// newLog is an empty log on the shared broker.
func newLog(t *testing.T) eventlog.Log {
	t.Helper()
	log, err := jslog.Open(t.Context(), natstest.Connect(t, broker),
		jslog.Config{Prefix: fmt.Sprintf("life%d", lives.Add(1))})
	if err != nil {
		t.Fatalf("open log: %v", err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// liveOn starts a life on a given log.
func liveOn(t *testing.T, log eventlog.Log, change ...func(*schedule.Policies)) *life {
	t.Helper()
	return liveWith(t, log, nil, change...)
}

// liveWith starts a life on a given log, whose scripts run in the given workers; without any they
// run in this process.
func liveWith(t *testing.T, log eventlog.Log, workers *worker.Pool, change ...func(*schedule.Policies)) *life {
	t.Helper()
	l := &life{t: t, below: log, workers: workers, clock: clock.NewManual(start), sent: map[string]int{}, close: func() {}}
	l.bench = enginetest.NewOn(t, log)
	if workers != nil {
		l.bench.Scripts = workers
	}
	l.world = l.bench.World
	policies := schedule.Default()
	for _, c := range change {
		c(&policies)
	}
	l.bench.Config = engine.Config{Clock: l.clock, Policies: policies, DrainTimeout: time.Nanosecond,
		Jitter: func() float64 {
			return 0.5
		}, Observe: l.observe, DiskSpace: room(&l.full)}
	l.world.OnPerform(l.perform)
	l.boot()
	t.Cleanup(func() { l.close() })
	return l
}

// perform counts every call that leaves and plays the next outcome; without one it is applied.
func (l *life) perform(_ context.Context, call connector.Call) connector.Outcome {
	l.mu.Lock()
	if l.sent[call.Key]++; l.sent[call.Key] == 1 {
		l.order = append(l.order, string(call.Params))
	}
	play := outcome(applied)
	switch {
	case len(l.script) > 0:
		play, l.script = l.script[0], l.script[1:]
	case l.rule != nil:
		play = l.rule
	}
	l.mu.Unlock()
	return play(l.world, call)
}

// sends says what becomes of the next calls, one by one.
func (l *life) sends(outcomes ...outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.script = append(l.script, outcomes...)
}

// always says what becomes of every call beyond those of sends.
func (l *life) always(o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rule = o
}

// reconciles says what the world answers when it is asked what became of a call.
func (l *life) reconciles(verdict connector.Verdict) {
	l.world.OnReconcile(func(connector.Call) connector.Reconciliation {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked++
		return connector.Reconciliation{Verdict: verdict, Result: json.RawMessage(`{"asked":true}`)}
	})
}

// reads makes every read fail with the class, or work again when it is empty.
func (l *life) reads(class eventlog.Class) {
	l.world.OnRead(func(connector.Call) (json.RawMessage, error) {
		if class != "" {
			return nil, enginetest.Failing(class, "world.unreadable")
		}
		return json.RawMessage(`[]`), nil
	})
}

func (l *life) observe(r eventlog.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killAt != "" && r.Kind == l.killAt {
		l.killAt = ""
		l.log.Kill()
	}
}

// diesAfter lets the process die right after it has recorded a transition of the kind.
func (l *life) diesAfter(kind eventlog.FactType) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.killAt = kind
}

// slowLog holds up one append for longer than storage.wait allows.
type slowLog struct {
	eventlog.Log
	life *life
}

func (s slowLog) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := s.Log.Append(ctx, e)
	s.life.mu.Lock()
	slow := s.life.slowAt != "" && e.Kind == s.life.slowAt
	if slow {
		s.life.slowAt = ""
	}
	s.life.mu.Unlock()
	if slow {
		timer := time.NewTimer(storageWait * 3 / 2)
		<-timer.C
	}
	return head, err
}

// storageWait is storage.wait in the tests that hold the log up. It is real time.
const storageWait = 400 * time.Millisecond

func (l *life) isSlowAt(kind eventlog.FactType) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowAt = kind
}

// lifeToken opens the interface of these engines.
const lifeToken = "pawl_token-of-the-tests"

// boot starts an engine and its interface on what there is.
func (l *life) boot() {
	l.t.Helper()
	l.log = enginetest.NewCrashLog(slowLog{l.below, l}, 0, enginetest.BeforeAppend)
	l.bench.Log = l.log
	l.engine = l.bench.Start()
	registry, err := connector.NewRegistry(append([]connector.Connector{l.world}, l.bench.Others...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	server, err := ops.New(ops.Config{
		Engine: l.engine.Engine, Reader: &readmodel.Reader{Store: l.bench.Store, Flush: l.engine.Flush}, Log: l.below,
		Connectors: deploy.CatalogOf(registry), Calls: registry, Now: l.clock.Now, Logger: l.bench.Logger, Version: "test",
		Token: lifeToken,
	})
	if err != nil {
		l.t.Fatalf("make the interface: %v", err)
	}
	web := httptest.NewServer(server.Handler())
	l.client = &rpc.Client{Operations: ops.Table(), URL: web.URL, Actor: "ann", Token: lifeToken}
	l.close = sync.OnceFunc(func() { server.Close(); web.Close(); _ = l.engine.Stop() })
}

// died waits for the process to die and starts another one on the same log.
func (l *life) died() {
	l.t.Helper()
	if err := l.engine.Wait(); !errors.Is(err, eventlog.ErrClosed) {
		l.t.Fatalf("the process did not die: %v", err)
	}
	l.close()
	l.boot()
}

// restart stops the engine in order and starts another one.
func (l *life) restart() {
	l.t.Helper()
	l.close()
	l.boot()
}

// outcomeFunc is an outcome that does not look at the world.
func outcomeFunc(f func(connector.Call) connector.Outcome) outcome {
	return func(_ *enginetest.World, call connector.Call) connector.Outcome { return f(call) }
}

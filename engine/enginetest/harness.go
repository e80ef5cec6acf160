package enginetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// Tester is the actor of everything a test asks for.
var Tester = eventlog.Actor{Kind: "user", Name: "tester"}

// Harness holds what outlives an engine: the log, the store and the world.
type Harness struct {
	TB     testing.TB
	Log    eventlog.Log
	Store  *store.Store
	World  *World
	Others []connector.Connector // besides World
	// Scripts runs the workflows and is closed by its owner; nil runs them in this process.
	Scripts sandbox.Executor
	Config  engine.Config // copied for each Start; Log, Store, Scripts and Connectors are set
	// Wrap is what engines are given for the store; nil is the store itself.
	Wrap   func(*store.Store) engine.Store
	Logger *slog.Logger
}

// New makes a harness with an empty memory log without faults and an empty store.
func New(tb testing.TB) *Harness {
	tb.Helper()
	return NewOn(tb, memlog.New(memlog.Config{}))
}

// NewOn makes a harness on a given log.
func NewOn(tb testing.TB, log eventlog.Log) *Harness {
	tb.Helper()
	st, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	b := &Harness{TB: tb, Log: log, Store: st, World: NewWorld("world"),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	tb.Cleanup(func() { _ = st.Close() })
	return b
}

// Engine is a running engine of a harness.
type Engine struct {
	*engine.Engine
	tb   testing.TB
	stop context.CancelFunc
	done chan error
	once sync.Once
	err  error
}

// catalog adapts the registry to the engine's interface.
type catalog struct {
	deploy.Catalog
	*connector.Registry
}

func (c catalog) Operation(name, operation string) (connector.Operation, bool) {
	return c.Registry.Operation(name, operation)
}
func (c catalog) Similar(name string) []string { return c.Registry.Similar(name) }

// Start runs an engine on the harness until Stop or the end of the test.
func (b *Harness) Start() *Engine {
	b.TB.Helper()
	registry, err := connector.NewRegistry(append([]connector.Connector{b.World}, b.Others...)...)
	if err != nil {
		b.TB.Fatalf("register the world: %v", err)
	}
	scripts, closeScripts := b.Scripts, func() error { return nil }
	if scripts == nil {
		scripts = vm.NewExecutor(vm.Config{})
		closeScripts = scripts.Close
	}
	cfg := b.Config
	cfg.Log, cfg.Store, cfg.Scripts = b.Log, b.Store, scripts
	if b.Wrap != nil {
		cfg.Store = b.Wrap(b.Store)
	}
	cfg.Connectors = catalog{deploy.CatalogOf(registry), registry}
	cfg.Logger = b.Logger
	if cfg.FlushEvery == 0 {
		cfg.FlushEvery = time.Millisecond
	}
	e, err := engine.New(cfg)
	if err != nil {
		b.TB.Fatalf("make an engine: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &Engine{Engine: e, tb: b.TB, stop: cancel, done: make(chan error, 1)}
	go func() {
		running.done <- e.Run(ctx)
		_ = closeScripts()
	}()
	select {
	case <-e.Ready():
	case err := <-running.done:
		running.done <- err
		b.TB.Fatalf("run the engine: %v", err)
	}
	b.TB.Cleanup(func() { _ = running.Stop() })
	return running
}

// Wait returns what Run returned, once it has. The error is that of Run.
func (e *Engine) Wait() error {
	e.once.Do(func() { e.err = <-e.done })
	return e.err
}

// RestOrDie waits until the engine has ended or come to rest, and says whether it rests.
func (e *Engine) RestOrDie() bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_ = e.Wait()
		cancel()
	}()
	return e.WaitIdle(ctx) == nil
}

// Stop ends the engine and returns what Run returned.
func (e *Engine) Stop() error {
	e.stop()
	return e.Wait()
}

// MustDeploy deploys the source and allows all that it uses.
func (e *Engine) MustDeploy(source string) engine.DeployResult {
	e.tb.Helper()
	result, err := e.Deploy(e.tb.Context(), Tester, engine.DeployRequest{Source: source, Filename: "test.ts",
		GrantUsed: true})
	if err != nil {
		e.tb.Fatalf("deploy: %v", err)
	}
	if result.Refused {
		e.tb.Fatalf("deploy was refused: %+v", result.Problems)
	}
	return result
}

// MustPush pushes events with the given ids to the topic; each payload is {"id": id}.
func (e *Engine) MustPush(workflow eventlog.WorkflowName, topic eventlog.Topic, ids ...string) {
	e.tb.Helper()
	var items []decide.PushItem
	for _, id := range ids {
		items = append(items, decide.PushItem{MessageID: eventlog.MessageID(id), Title: "Event " + id,
			Payload: []byte(`{"id":"` + id + `"}`)})
	}
	if _, err := e.Push(e.tb.Context(), Tester, workflow, topic, items); err != nil {
		e.tb.Fatalf("push: %v", err)
	}
}

// Rest waits until nothing is active, due or backing off, and returns the workflow's state.
func (e *Engine) Rest(workflow eventlog.WorkflowName) *projections.State {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(e.tb.Context(), 30*time.Second)
	defer cancel()
	if err := e.WaitIdle(ctx); err != nil {
		s, _ := e.State(workflow)
		wait, _ := e.Why(workflow)
		e.tb.Fatalf("the engine does not come to rest: %v (wait %+v, run %+v, blocked %+v)", err, wait, s.CurrentRun(),
			s.Blocked)
	}
	s, ok := e.State(workflow)
	if !ok {
		e.tb.Fatalf("there is no workflow %s", workflow)
	}
	return &s
}

// FullFold folds the workflow's whole past, nothing evicted.
func (b *Harness) FullFold(workflow eventlog.WorkflowName) *projections.State {
	b.TB.Helper()
	s := new(projections.State)
	for r, err := range b.Log.ReadWorkflow(context.Background(), workflow, 1) {
		if err != nil {
			b.TB.Fatalf("read the log: %v", err)
		}
		if s, err = projections.Apply(s, &r); err != nil {
			b.TB.Fatalf("fold: %v", err)
		}
	}
	return s
}

// Kinds lists the kinds of the workflow's transitions, in order.
func (b *Harness) Kinds(workflow eventlog.WorkflowName) []string {
	b.TB.Helper()
	var kinds []string
	for r, err := range b.Log.ReadWorkflow(context.Background(), workflow, 1) {
		if err != nil && !errors.Is(err, context.Canceled) {
			b.TB.Fatalf("read the log: %v", err)
		}
		kinds = append(kinds, string(r.Kind))
	}
	return kinds
}

// MustAgree compares every entity of the full fold with the store's row. The engine must have
// stopped.
func (b *Harness) MustAgree(workflow eventlog.WorkflowName) {
	b.TB.Helper()
	full := b.FullFold(workflow)
	for _, k := range Keys(full) {
		rows, err := b.Store.Get(workflow, []projections.Key{k})
		if err != nil {
			b.TB.Fatalf("read the store: %v", err)
		}
		if len(rows) != 1 {
			b.TB.Fatalf("the store lacks %c %q", k.Kind, k.ID)
		}
		if want := full.Entity(k); !reflect.DeepEqual(rows[0], want) {
			b.TB.Fatalf("%c %q: the store has\n%+v\nthe full fold\n%+v", k.Kind, k.ID, rows[0], want)
		}
	}
}

// Keys lists all entities in memory.
func Keys(s *projections.State) []projections.Key {
	keys := []projections.Key{projections.WorkflowKey()}
	for h := range s.Handlers() {
		keys = append(keys, projections.HandlerKey(h))
	}
	for id := range s.Runs() {
		keys = append(keys, projections.RunKey(id))
	}
	for id := range s.Events() {
		keys = append(keys, projections.Key{Kind: projections.KindEvent, ID: id})
	}
	for id := range s.Mutations() {
		keys = append(keys, projections.MutationKey(id))
	}
	for id := range s.Inputs() {
		keys = append(keys, projections.InputKey(id))
	}
	for id := range s.Sessions() {
		keys = append(keys, projections.SessionKey(id))
	}
	for v := range s.Scripts() {
		keys = append(keys, projections.ScriptKey(v))
	}
	return keys
}

package engine_test

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// endless runs scripts whose prepare goes on until its context ends.
type endless struct {
	sandbox.Executor
	begun, ended chan struct{}
}

func (s *endless) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	if call.Phase != sandbox.Prepare {
		return s.Executor.Invoke(ctx, call, host)
	}
	s.begun <- struct{}{}
	<-ctx.Done()
	s.ended <- struct{}{}
	return sandbox.Result{}, &sandbox.Error{Fault: sandbox.FaultTransient, Message: "it was given up"}
}

// C8, O7: a command that ends a run ends its script too. It would keep a process from other runs otherwise, for as long
// as a script may take. The scripts of runs that go on are left alone.
func TestC8_ACommandEndsTheScriptsOfItsRuns(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	scripts := &endless{vm.NewExecutor(vm.Config{}), make(chan struct{}, 10), make(chan struct{}, 10)}
	t.Cleanup(func() { _ = scripts.Close() })
	b.Scripts = scripts
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 3"))
	e.MustPush("orders", "order.in", "a", "b", "c")
	for range 3 {
		<-scripts.begun
	}
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.SkipEvent{Topic: "order.in", MessageID: "b"},
		"skip"); err != nil {
		t.Fatal(err)
	}
	<-scripts.ended
	if s, _ := e.State("orders"); s.Places("send") != 2 || len(scripts.ended) > 0 {
		t.Fatalf("%d runs have a place and %d more scripts have ended, want 2 and none", s.Places("send"), len(scripts.ended))
	}
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.Archive{}, "archive"); err != nil {
		t.Fatal(err)
	}
	<-scripts.ended
	<-scripts.ended
	if s := e.Rest("orders"); s.Places("send") != 0 {
		t.Errorf("%d runs have a place after the archive", s.Places("send"))
	}
}

// C8, O7: no script begins for a run that a command has ended since the runner looked at the state: nothing would stop
// it.
func TestC8_NoScriptForARunThatIsOver(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	scripts := &endless{vm.NewExecutor(vm.Config{}), make(chan struct{}, 10), make(chan struct{}, 10)}
	t.Cleanup(func() { _ = scripts.Close() })
	b.Scripts = scripts
	e := b.Start()
	e.MustDeploy(sideBySide("concurrency: 3"))
	e.MustPush("orders", "order.in", "a")
	<-scripts.begun
	seen, _ := e.State("orders")
	run := seen.OpenRun("order.in", "a").ID
	if err := e.Operate(t.Context(), enginetest.Tester, "orders", decide.SkipEvent{Topic: "order.in", MessageID: "a"},
		"skip"); err != nil {
		t.Fatal(err)
	}
	<-scripts.ended
	e.Rest("orders")
	ended, end := context.WithCancel(t.Context())
	end() // a script that begins all the same ends at once
	if err := e.Do(ended, &seen, decide.RunPrepare{Run: run}); err != nil || len(scripts.begun) > 0 {
		t.Fatalf("%d scripts have begun for a run that is over: %v", len(scripts.begun), err)
	}
}

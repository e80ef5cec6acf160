package node

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
)

// Run runs engine and interface until work is done, ctx ends or one of them fails. The interface still answers while
// the engine ends its runs, so that an operator can see what the engine waits for.
func (n *Node) Run(ctx context.Context, work func(context.Context) error) error {
	engineCtx, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEngine()
	defer context.AfterFunc(ctx, func() {
		n.stepAside(engineCtx)
		stopEngine()
	})()
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	workCtx, stopWork := context.WithCancel(ctx)
	defer stopWork()

	checked := n.check.start(apiCtx)
	defer checked()
	delivered := n.startOutgoing(ctx, apiCtx)
	defer delivered() // after the feed has ended
	fed := n.StartFeed(apiCtx)
	defer fed()
	ended, served, finished := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { ended <- n.Engine.Run(engineCtx) }()
	go func() { served <- n.serve(apiCtx) }()
	go func() {
		select {
		case <-n.Engine.Ready():
			finished <- n.alertDuring(workCtx, work)
		case <-workCtx.Done():
			finished <- nil
		}
	}()

	var result, fatal error
	select {
	case result = <-finished:
		if ctx.Err() == nil {
			stopEngine()
		}
		fatal = <-ended
	case fatal = <-ended:
		stopWork()
		result = <-finished
	case err := <-served:
		served <- nil
		stopWork()
		result = errors.Join(exit.Failed("", err), <-finished)
		stopEngine()
		fatal = <-ended
	}
	stopAPI()
	if err := <-served; err != nil && result == nil {
		result = exit.Failed("", err)
	}
	if fatal != nil {
		return storage.ExplainLog(n.Data.Settings.Data, fatal)
	}
	return result
}

// stepTime bounds how long the other nodes may take to become the leaders of this node's streams.
const stepTime = 3 * time.Second

// stepAside makes the other nodes the leaders of the streams before the engine ends, where this process has a node of a
// cluster.
func (n *Node) stepAside(ctx context.Context) {
	if n.Data.Broker.Server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if err := n.Data.Broker.Server.StepAside(ctx); err != nil {
		n.Data.Logger.Warn("the other nodes wait for an election once this one has ended", "error", err)
	}
}

// serve answers at every address until ctx ends or one of them fails.
func (n *Node) serve(ctx context.Context) error {
	if n.Hooks == nil {
		return n.API.Serve(ctx, n.Endpoint)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hooks := make(chan error, 1)
	go func() {
		defer stop()
		hooks <- n.API.ServeHooks(ctx, n.Hooks)
	}()
	err := n.API.Serve(ctx, n.Endpoint)
	stop()
	return errors.Join(err, <-hooks)
}

// waitIdle waits until everything is idle. Work that waits for disk space may wait forever: where the command is to end
// when all is idle, it fails with diskspace.ErrLacking after the time that storage has for its retries.
func (n *Node) waitIdle(ctx context.Context) error {
	if !n.Data.Settings.UntilIdle {
		return n.Engine.WaitIdle(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(n.space.Lacking(ctx, n.Data.Settings.Policies.Storage.Wait)) }()
	if err := n.Engine.WaitIdle(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

package node

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// Run runs engine and interface until work is done, ctx ends or one of them fails. The interface
// answers as long as the engine drains, so that an operator can see what it waits for.
func (in *Node) Run(ctx context.Context, work func(context.Context) error) error {
	engineCtx, stopEngine := context.WithCancel(ctx)
	defer stopEngine()
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	workCtx, stopWork := context.WithCancel(ctx)
	defer stopWork()

	go tendHeap(apiCtx)
	checked := in.checkLog(apiCtx)
	defer checked()
	ended, served, finished := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { ended <- in.Engine.Run(engineCtx) }()
	go func() { served <- in.API.Serve(apiCtx, in.Listener) }()
	go func() {
		select {
		case <-in.Engine.Ready():
			finished <- work(workCtx)
		case <-workCtx.Done():
			finished <- nil
		}
	}()

	var result, fatal error
	select {
	case result = <-finished:
		stopEngine()
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
		return explainLog(in.Settings.Data, fatal)
	}
	return result
}

package node

import (
	"context"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// RunForBench starts engine and interface and returns what stops them.
func (in *Node) RunForBench(ctx context.Context) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	engineDone, apiDone := make(chan error, 1), make(chan error, 1)
	go func() { engineDone <- in.Engine.Run(ctx) }()
	go func() { apiDone <- in.API.Serve(ctx, in.Listener) }()
	select {
	case <-in.Engine.Ready():
	case err := <-engineDone:
		cancel()
		return nil, exit.Failed("", err)
	}
	return func() error {
		cancel()
		<-apiDone
		return <-engineDone
	}, nil
}

package bench

import (
	"context"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
)

// startNode starts engine and interface and returns a function that stops them.
func startNode(ctx context.Context, n *node.Node) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	engineDone, apiDone := make(chan error, 1), make(chan error, 1)
	fed := n.StartFeed(ctx)
	go func() { engineDone <- n.Engine.Run(ctx) }()
	go func() { apiDone <- n.API.Serve(ctx, n.Endpoint) }()
	select {
	case <-n.Engine.Ready():
	case err := <-engineDone:
		cancel()
		fed()
		return nil, exit.Failed("", err)
	}
	return func() error {
		cancel()
		<-apiDone
		defer fed()
		return <-engineDone
	}, nil
}

package run

import (
	"context"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Serve is the engine alone.
type Serve struct {
	config.Engine
	config.ServerFlags
	config.NodeFlags
	config.ClusterFlags
	UntilIdle *bool `setting:"" help:"End when nothing is active, due or backing off; exit code 3 if a workflow needs a person."`
}

// Run runs the workflows of the log until it is interrupted.
func (c *Serve) Run(ctx context.Context, screen term.Screen, conf config.Reader, with storage.Parts) error {
	s, err := conf.SharedSettings(c.Engine, c.ServerFlags, c.NodeFlags, c.UntilIdle)
	if err != nil {
		return err
	}
	if err := conf.Cluster(&s, c.ClusterFlags); err != nil {
		return err
	}
	if err := conf.CheckMoved(s.Data); err != nil {
		return err
	}
	return node.Operate(ctx, screen, s, with, func(context.Context, *node.Node) (node.SideTask, error) {
		return nil, nil
	}, nil)
}

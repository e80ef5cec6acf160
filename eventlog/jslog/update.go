package jslog

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// guarded makes every update of a stream follow Config.BeforeUpdate, one update at a time.
type guarded struct {
	jetstream.JetStream
	before   func(stream string) error
	updating sync.Mutex
}

// UpdateStream makes no update after an error of BeforeUpdate.
func (g *guarded) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	g.updating.Lock()
	defer g.updating.Unlock()
	if err := g.before(cfg.Name); err != nil {
		return nil, fmt.Errorf("prepare the update of stream %s: %w", cfg.Name, err)
	}
	return g.JetStream.UpdateStream(ctx, cfg)
}

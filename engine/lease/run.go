package lease

import (
	"context"
	"encoding/json"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/engine/clock"
)

// Run keeps the leases until ctx ends, which must be after they were given back. It asks again and again what the
// engine lacks. ErrNodeName says that another engine runs under the name of this node.
func (k *Keeper) Run(ctx context.Context, lacks func() Shortage) error {
	if err := k.enter(ctx); err != nil {
		return err
	}
	defer k.left(context.WithoutCancel(ctx))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return k.keepNode(ctx, lacks) })
	for p := range k.cfg.Partitions {
		group.Go(func() error {
			k.tend(ctx, p)
			return nil
		})
	}
	group.Go(func() error {
		k.watch(ctx)
		return nil
	})
	return group.Wait()
}

// watch looks at once at what another engine has given back.
func (k *Keeper) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.cfg.Bucket.Watch(ctx, func(key string, value []byte) {
			p, ok := partitionOf(key)
			switch {
			case ok && released[Entry](value, func(e Entry) bool { return e.Engine == "" }):
				k.poke(p)
			case strings.HasPrefix(key, NodePrefix) && released[Node](value, came):
				select {
				case k.observeNow <- struct{}{}:
				default:
				}
			}
		})
		if err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("cannot watch the leases: what another engine gives back is seen later", "error", err)
		}
		clock.Sleep(ctx, k.cfg.Renew)
	}
}

// released decodes an entry and reports whether it meets the condition.
func released[V any](value []byte, says func(V) bool) bool {
	var v V
	return json.Unmarshal(value, &v) == nil && says(v)
}

// came reports whether the entry says that the node has just come, is leaving, or has ended.
func came(n Node) bool { return n.Engine == "" || n.Leaving || n.Renewal == 1 }

package node

import (
	"context"
	"sync"
	"time"
)

// feedEnd is how long an engine that ends waits for the feed. What is left is published after the next start.
const feedEnd = 2 * time.Second

// outgoingEnd is how long an engine that ends waits for its webhooks. What is left is delivered after the next start.
const outgoingEnd = 5 * time.Second

// lastLook bounds the look for alerts before the engine is stopped.
const lastLook = 5 * time.Second

// dutiesOfAll does the work that one engine does for all of a shared log, until ctx ends: the feed, outgoing webhooks
// and alerts.
func (n *Node) dutiesOfAll(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	if n.feed.feeder != nil {
		all.Go(func() { n.feed.feeder.Run(ctx) })
	}
	if n.outgoing != nil {
		all.Go(func() { n.outgoing.Run(ctx) })
	}
	if n.alerts.raiser != nil {
		all.Go(func() { n.alerts.raiser.Run(ctx) })
	}
}

// StartFeed begins to publish the feed, if one is asked for. The function that it returns stops the feed: as soon as
// all that is recorded is published, at the latest after feedEnd. It is called when the engine has ended.
func (n *Node) StartFeed(ctx context.Context) (end func()) {
	feeder := n.feed.feeder
	if feeder == nil || n.Data.Broker.Shared { // of a shared log one engine does this for all
		return func() {}
	}
	return background(ctx, feeder.Run, feeder.Await, feedEnd)
}

// outgoingBegin bounds how long the start of an engine waits until it is stored where new webhooks begin.
const outgoingBegin = 5 * time.Second

// startOutgoing begins to deliver webhooks, if there are any. It is called before the engine works, so that a new
// webhook is sent everything that this engine records. The function that it returns stops that: as soon as all is
// delivered that can be, at the latest after outgoingEnd. It is called when the feed has ended.
func (n *Node) startOutgoing(ctx, life context.Context) (end func()) {
	if n.outgoing == nil {
		return func() {}
	}
	first, stop := context.WithTimeout(ctx, outgoingBegin)
	defer stop()
	if err := n.outgoing.Begin(first); err != nil && ctx.Err() == nil {
		n.Data.Logger.Warn("where new webhooks begin could not be stored; the engine that delivers them stores it later. "+
			"If this engine is killed before, its first facts may not be delivered", "error", err)
	}
	if n.Data.Broker.Shared { // of a shared log one engine delivers for all
		return func() {}
	}
	return background(life, n.outgoing.Run, n.outgoing.Await, outgoingEnd)
}

// background starts run, which goes on after ctx has ended. The function that it returns waits for await, at most for
// the time bound, and then stops run.
func background(
	ctx context.Context, run func(context.Context), await func(context.Context) error, bound time.Duration,
) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		last, stop := context.WithTimeout(ctx, bound)
		defer stop()
		_ = await(last) // the next start goes on with the rest
		cancel()
		<-done
	}
}

// alertDuring looks for alerts while work is done, and once more at its end. The engine is ready.
func (n *Node) alertDuring(ctx context.Context, work func(context.Context) error) error {
	raiser := n.alerts.raiser
	if raiser == nil || n.Data.Broker.Shared { // of a shared log one engine does this for all
		return work(ctx)
	}
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		raiser.Run(looking)
	}()
	err := work(ctx)
	stop()
	<-ended
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	if err := raiser.Look(last); err != nil {
		n.Data.Logger.Warn("alerts could not be published before the stop; the next start publishes them", "error", err)
	}
	return err
}

package node

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/metrics"
)

// Compose makes an engine on an opened data directory, and the interface to it, of this version of the program.
// observe is called with each transition; it may be nil. Parts that were opened before a failure are closed
// with the data.
func Compose(ctx context.Context, d *storage.Data, observe func(eventlog.Record), version string) (*Node, error) {
	n := &Node{Data: d}
	if err := n.openCallees(ctx); err != nil {
		return nil, err
	}
	now, err := storage.NewClock(ctx, d.Settings, d.Log)
	if err != nil {
		return nil, storage.ExplainLog(d.Settings.Data, err)
	}
	n.clock = now
	known := NewCatalog(n.registry)
	known.services = n.Tools
	if n.Endpoint, err = n.listen(ctx); err != nil {
		return nil, err
	}
	before, err := d.Ends(ctx)
	if err != nil {
		return nil, storage.ExplainLog(d.Settings.Data, err)
	}
	progress := metrics.NewProgress(before)
	if n.feed, err = openFeed(d, n.space.Check); err != nil {
		return nil, err
	}
	if n.outgoing, err = openOutgoing(d, before); err != nil {
		return nil, err
	}
	if err := n.openTraces(ctx, before, version); err != nil {
		return nil, err
	}
	if err := n.newEngine(ctx, known, version, func(r eventlog.Record) {
		progress.Observe(r)
		n.traces.observe(r)
		n.feed.observe(r)
		n.alerts.observe(r)
		if observe != nil {
			observe(r)
		}
	}); err != nil {
		return nil, err
	}
	var copies func(context.Context) (doctor.Copies, error)
	var timeout time.Duration // 0: the interface's own
	if d.Broker.Shared {
		copies, timeout = n.copies, engine.OwnerTimeout+answerTime
	}
	err = n.answer(ctx, ops.Config{
		Copies: copies, Timeout: timeout,
		Engine: n.Engine, Reader: n.reader(), Log: d.Log, Connectors: known, Calls: n.registry,
		RunLog:  d.Scripts.Reader(),
		Secrets: d.Settings.Secrets,
		Workers: n.Scripts.Report, Version: version, Installation: d.Log.Installation(), NoAuth: d.Settings.NoAuth,
		PublicURL: d.Settings.PublicURL, Logger: d.Logger, Now: now.Now, Progress: progress,
		Feed: n.feed.figures(), Subscriptions: n.outgoing, Traces: n.traces.figures(), Source: n.source, Doctor: n.examine,
		PastDir: datadir.Past(d.Settings.Data), Links: n.links,
	})
	if err != nil {
		return nil, err
	}
	if err := n.openAlerts(); err != nil {
		return nil, err
	}
	return n, nil
}

// answerTime is how much of its time a request still has once the owner of its workflow is found.
const answerTime = 3 * time.Second

func (n *Node) newEngine(ctx context.Context, known catalog, version string, observe func(eventlog.Record)) error {
	d := n.Data
	linger := maxLinger
	if d.Settings.Clock.Manual {
		linger = 0 // a caller that advances the clock waits for every run
	}
	var reached engine.Connectors = known
	if d.With.Connectors != nil {
		reached = d.With.Connectors(known)
	}
	reached = n.traces.connectors(reached)
	recordings, err := n.openRecordings()
	if err != nil {
		return err
	}
	c := engine.Config{
		Recordings: recordings,
		Clock:      n.clock, Linger: linger, Log: d.Log, Store: d.Store, Scripts: n.Scripts, Connectors: reached,
		Policies: d.Settings.Policies, Secrets: d.Settings.Secrets.Names(), Vars: d.Settings.Vars, Logger: d.Logger,
		Observe:   d.With.Observer(observe),
		DiskSpace: n.space.Check, RunLog: d.Scripts.Write,
	}
	if err := n.share(ctx, &c, version); err != nil {
		return err
	}
	if n.Engine, err = engine.New(c); err != nil {
		return exit.Failed("", err)
	}
	n.check = logCheck{engine: n.Engine, logger: d.Logger}
	return nil
}

// CheckGrants refuses grants that could never grant anything: those of an operation that its connector does not have.
func (n *Node) CheckGrants(grants map[string]eventlog.Grant) error {
	return deploy.ValidateGranted(grants, nil, &eventlog.Definition{}, NewCatalog(n.registry))
}

package decide

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// RunNow queues every producer (S5).
type RunNow struct{}

// Queued answers a RunNow: its producers are queued, and at most one of them runs by now.
type Queued struct {
	// Producers are those of the current version, in its order.
	Producers []eventlog.Handler
	// Running is the producer that runs now, empty when none does.
	Running eventlog.Handler
	// First is what the workflow owes or waits for before any other of them runs.
	First Todo
	// State is the workflow as the command has left it: First is explained by it.
	State projections.State
}

func (RunNow) names(*projections.State, func(projections.Key)) {}

func (RunNow) decide(d *decision) error {
	s := d.state()
	if s.Archived {
		return archived(s)
	}
	if len(s.Definition().Producers) == 0 {
		return refuse(Conflict, "producers.none", "workflow %s has no producers: there is nothing to run now", s.Name).
			hint("its consumers run by themselves when an event arrives; pawl why %s says what it waits for", s.Name)
	}
	if run := s.CurrentRun(); run != nil && run.Status == eventlog.RunActive {
		return refuse(Conflict, "run.active", "run %s of %s is %s; run-now is refused until it is over", run.ID, run.Handler,
			run.Status).
			hint("wait for it, or look at it: pawl why %s", s.Name)
	}
	for _, p := range s.Definition().Producers {
		d.lead(&eventlog.HandlerScheduled{Handler: p.Name, NextRunAt: d.env.Now})
	}
	return nil
}

// queued answers a RunNow once it is decided which run begins with it.
func (d *decision) queued(cmd Command) {
	if _, ok := cmd.(RunNow); !ok || d.err != nil {
		return
	}
	s := d.state()
	q := Queued{First: Next(s, d.env.Now, d.env.Engine), State: *s}
	for _, p := range s.Definition().Producers {
		q.Producers = append(q.Producers, p.Name)
	}
	switch first := q.First.(type) {
	case RunProducer:
		q.Running = s.Run(first.Run).Handler
	case StartRun: // it is due, and Env.Hold keeps it from starting
		q.First = d.env.Hold.Wait()
	}
	d.queue = &q
}

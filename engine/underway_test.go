package engine

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// outer is embedded under another name than its own method has.
type outer interface{ process.Connectors }

// endings is a world of which only the end of its calls matters.
type endings struct {
	outer
	ending connector.Ending
}

func (e endings) Ending(connector.Call) connector.Ending { return e.ending }

// For how long something of a call may be under way: an own one by its exchange, one of another process
// by its deadline (F5).
func TestF5_UnderWay(t *testing.T) {
	t.Parallel()
	const timeout, quiet = 30 * time.Second, 5 * time.Second
	const unseen, lasting = time.Minute, 5*time.Minute + quiet
	attached := connector.Ending{Quiet: quiet, Unseen: unseen, Lasting: lasting}
	detached := connector.Ending{Quiet: quiet, Unseen: unseen, Lasting: lasting, Detached: true}
	promised := connector.Ending{Quiet: quiet, Unseen: quiet, Lasting: quiet} // by the operator
	none := connector.Ending{}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type call struct {
		own      bool          // sent by this process
		ended    time.Duration // after its begin; 0: its exchange is open
		outcome  connector.Outcome
		ahead    time.Duration // of the writer's clock
		first    time.Duration // when another process's record was first seen
		attempts int
		recorded bool          // its outcome was recorded as unknown
		overAt   time.Duration // as recorded
	}
	own, others := call{own: true}, call{}
	end := func(after time.Duration, outcome connector.Outcome) call {
		return call{own: true, ended: after, outcome: outcome}
	}
	seen := func(first time.Duration) call { return call{first: first} }
	answered, relayed, cut := connector.Outcome{Answered: true}, connector.Outcome{Relayed: true}, connector.Outcome{}
	asked := func(overAt time.Duration) call {
		return call{first: time.Hour, attempts: 1, recorded: true, overAt: overAt}
	}
	recorded := func(overAt time.Duration) call { return call{recorded: true, overAt: overAt} }
	for name, c := range map[string]struct {
		ending connector.Ending
		call   call
		now    time.Duration
		want   time.Duration
	}{
		"open":                    {attached, own, 3 * time.Hour, unknownEnd},
		"answered":                {attached, end(2*time.Second, answered), 2 * time.Second, 0},
		"ended without an answer": {attached, end(2*time.Second, cut), 4 * time.Second, 3 * time.Second},
		"ended long after its deadline": {attached, end(5*time.Minute, cut), 5*time.Minute + time.Second,
			4 * time.Second},
		"ended, and quiet since":              {attached, end(2*time.Second, cut), 7 * time.Second, 0},
		"ended where nothing goes on":         {none, end(2*time.Second, cut), 2 * time.Second, 0},
		"answered on the way":                 {attached, end(20*time.Second, relayed), 30 * time.Second, unseen},
		"answered on the way, with a promise": {promised, end(20*time.Second, relayed), 30 * time.Second, quiet},
		"handed over":                         {detached, own, 31 * time.Second, unseen - time.Second},
		"handed over, the line broke":         {detached, end(time.Second, cut), 31 * time.Second, unseen - time.Second},
		"handed over and answered":            {detached, end(time.Second, answered), time.Second, 0},
		"handed over, and quiet since":        {detached, own, 30*time.Second + unseen, 0},
		"another's, seen at once":             {attached, others, 31 * time.Second, unseen},
		"another's, seen later": {attached, seen(25 * time.Second), 36 * time.Second,
			unseen + 20*time.Second},
		"another's, long over":                 {attached, seen(time.Hour), time.Hour + 31*time.Second + unseen, 0},
		"another's, with a promise":            {promised, others, 31 * time.Second, quiet},
		"another's, with a promise, over":      {promised, others, 36 * time.Second, 0},
		"another's, which was found over":      {attached, asked(time.Hour), time.Hour, 0},
		"another's, asked by an older version": {attached, asked(0), time.Hour, 31*time.Second + lasting},
		"another's, which stayed open":         {attached, recorded(0), 31 * time.Second, lasting},
		"another's, open, with a promise":      {promised, recorded(0), 31 * time.Second, quiet},
		"another's, which was seen to end":     {attached, recorded(36 * time.Second), 31 * time.Second, unseen},
		"another's, recorded after a pause": {attached, call{first: 10 * time.Second, recorded: true,
			overAt: 41*time.Second + unseen}, 31 * time.Second, unseen + 10*time.Second},
		"another's, known to be slow": {attached, recorded(2*time.Minute + 31*time.Second), 31 * time.Second,
			2 * time.Minute},
		"another's, recorded far ahead":        {attached, recorded(365 * 24 * time.Hour), 31 * time.Second, lasting},
		"another's, handed over":               {detached, others, 31 * time.Second, unseen},
		"another's, the outside stops at once": {none, others, 30 * time.Second, time.Second},
		"another's, its clock is far behind":   {attached, seen(time.Hour), time.Hour, 31*time.Second + unseen},
		"another's, its clock was a bit ahead": {promised, call{ahead: time.Second}, 0, time.Second + 36*time.Second},
		"another's, its clock was far ahead": {promised, call{ahead: 365 * 24 * time.Hour}, 10 * time.Second,
			26 * time.Second},
		"another's, far ahead and over by time": {promised, call{ahead: 365 * 24 * time.Hour}, 36 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manual := clock.NewManual(begun)
			e := &process.Process{Config: Config{Clock: manual, Connectors: endings{ending: c.ending}}}
			calls := calls{workflow: &aggregate{engine: e}}
			m := &projections.Mutation{
				ID: "R1", StartedAt: eventlog.At(begun.Add(c.call.ahead)), Deadline: eventlog.At(begun.Add(c.call.ahead + timeout)),
				ReconcileAttempts: c.call.attempts, Call: eventlog.MutationCall{TimeoutMS: timeout.Milliseconds()},
			}
			if c.call.recorded {
				m.Status = eventlog.MutationStatusNeedsReconcile
			}
			if c.call.overAt != 0 {
				m.OverAt = eventlog.At(begun.Add(c.call.overAt))
			}
			at := func(d time.Duration) { manual.Resume(begun.Add(d)) }
			if c.call.own {
				calls.underWay.Begin(m, e.Moment(), &projections.State{})
				if c.call.ended > 0 {
					at(c.call.ended)
					calls.underWay.End(m.ID, e.Moment(), c.call.outcome)
				}
			} else {
				at(c.call.first)
				calls.underWayFor(m)
			}
			at(c.now)
			if got := calls.underWayFor(m); got != c.want {
				t.Errorf("under way for another %s, want %s", got, c.want)
			}
		})
	}
}

package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

// Progress tells a person what the engine does: one line per thing that matters, never a payload. Records from before
// this process opened the log are read again at its start; they are neither shown nor counted.
type Progress struct {
	print func(...string)
	Style Style
	// Before is the last sequence of each partition at the time when this process opened the log.
	Before []uint64
	// State returns the state of a workflow. It is asked for a run that began before the records that are read again.
	// It is nil where no states are kept.
	State func(eventlog.WorkflowName) (projections.State, bool)

	mu     sync.Mutex
	active map[eventlog.WorkflowName]map[eventlog.RunID]*running
	counts Counts
}

// Counts is what has happened since this process opened the log. A run counts only if it had a result.
type Counts struct{ runs, applied, failed int }

// String sums up what has happened.
func (c Counts) String() string {
	switch {
	case c == Counts{}:
		return "nothing new had to be done"
	case c.applied == 0 && c.failed == 0:
		return Plural(c.runs, "run") + ", no change outside"
	case c.failed == 0:
		return fmt.Sprintf("%s made", Plural(c.applied, "change"))
	default:
		return fmt.Sprintf("%s made, %s failed", Plural(c.applied, "change"), Plural(c.failed, "run"))
	}
}

// NewProgress makes a Progress that prints its lines by print, which must not block.
func NewProgress(print func(...string), s Style) *Progress {
	return &Progress{print: print, Style: s, active: map[eventlog.WorkflowName]map[eventlog.RunID]*running{}}
}

// Observe is the engine's hook: called for each transition, in order per workflow. It must not block.
func (p *Progress) Observe(r eventlog.Record) {
	p.mu.Lock()
	counted := p.counts
	lines := p.lines(r)
	if p.past(r.Position) {
		lines, p.counts = nil, counted
	}
	p.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	name := p.Style.Dim(string(r.Workflow))
	for i := range lines {
		lines[i] = name + "  " + lines[i]
	}
	p.print(lines...)
}

// past says whether a position was in the log already when this process opened it.
func (p *Progress) past(at eventlog.Position) bool {
	return at.Partition < len(p.Before) && at.Seq <= p.Before[at.Partition]
}

// Count is what has happened so far.
func (p *Progress) Count() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// lines renders a transition, fact by fact.
func (p *Progress) lines(r eventlog.Record) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	var retry *eventlog.EventRetryScheduled // the first of the events that are tried again after a failure
	retried := 0
	for _, fact := range r.Facts {
		switch f := fact.(type) {
		case *eventlog.RunStarted:
			run := p.of(r.Workflow, f.Run)
			*run = running{run: f.Run, handler: f.Handler}
			if f.Event != nil {
				run.event = f.Event.MessageID
			}
		case *eventlog.RunPrepared:
			p.of(r.Workflow, f.Run).title = f.UITitle
		case *eventlog.RunCommitted:
			run := p.of(r.Workflow, f.Run)
			p.remember(run, r.Workflow, f.Run)
			delete(p.active[r.Workflow], f.Run)
			if line := p.committed(r, run); line != "" {
				out = append(out, line)
			}
		case *eventlog.RunFailed:
			run := p.of(r.Workflow, f.Run)
			p.remember(run, r.Workflow, f.Run)
			if p.State != nil { // the state has the call, if it is still open
				delete(p.active[r.Workflow], f.Run)
			}
			p.counts.failed++
			say("%s %s failed%s: %s%s", p.Style.Red("✗"), run.handler, run.about(), OneLine(f.Failure.Message, 300),
				atLine(f.Failure.Line))
		case *eventlog.RunCrashed:
			say("%s a run was interrupted by the end of the process that ran it; going on", p.Style.Yellow("!"))
		case *eventlog.MutationStarted:
			run := p.of(r.Workflow, f.Run)
			run.call, run.mutated = f.Call, true
			p.active[r.Workflow][eventlog.RunID(f.Mutation)] = run // a mutation has the id of its run
		case *eventlog.MutationApplied:
			run := p.of(r.Workflow, f.Run)
			p.remember(run, r.Workflow, f.Run)
			p.counts.applied++
			run.mutated = true
			say("%s %s", p.Style.Green("✓"), effect(run.call, f))
		case *eventlog.MutationFailed:
			if f.ResolvedBy != "" {
				how := cmp.Or(notHappened[f.ResolvedBy], "did not happen ("+OneLine(f.ResolvedBy, maxTitle)+")")
				say("%s mutation %s %s", p.Style.Yellow("!"), f.Mutation, how)
			}
		case *eventlog.MutationReconcileScheduled:
			run := p.of(r.Workflow, eventlog.RunID(f.Mutation))
			if run.call.Connector == "" {
				p.rememberCall(run, r.Workflow, f.Mutation)
			}
			run.call.Reconciles = run.call.Reconciles || f.Reconciles
			then := "asking again %s what became of it"
			if !run.call.Reconciles {
				then = "a person can decide %s, when nothing of the call can be under way any more"
			}
			if run.call.Resends() {
				then = "the same is sent again %s with the same key, unless its outcome is known before"
			}
			say("%s %s.%s%s: no certain answer; "+then, p.Style.Yellow("?"), run.call.Connector, run.call.Operation,
				run.about(), in(f.At, r.At))
		case *eventlog.MutationResent:
			run := p.of(r.Workflow, eventlog.RunID(f.Mutation))
			if run.call.Connector == "" {
				p.rememberCall(run, r.Workflow, f.Mutation)
			}
			say("%s mutation %s%s is sent again with the same key (attempt %d)", p.Style.Yellow("↻"), f.Mutation, run.about(),
				f.Attempt)
		case *eventlog.MutationLeftIndeterminate:
			run := p.of(r.Workflow, eventlog.RunID(f.Mutation))
			if run.call.Connector == "" {
				p.rememberCall(run, r.Workflow, f.Mutation)
			}
			possible := "--happened, --did-not-happen or --skip"
			// A connector with a reconcile method can be asked again (O3). Where the call is not known here: if the
			// mutation was left to a person after its run had failed, its connector has been asked, so it has that
			// method.
			if run.call.Reconciles || run.call.Connector == "" && !failedIn(r) {
				possible = "--happened, --did-not-happen, --skip or --ask-again"
			}
			say("%s it is not known whether mutation %s%s happened; look, then: pawl resolve %s %s", p.Style.Red("✗"),
				f.Mutation, run.about(), f.Mutation, possible)
		case *eventlog.MutationApprovalRequested:
			say("%s %s waits for approval: pawl mutations show %s, then pawl approve %s", p.Style.Yellow("?"), titleOf(f.Call),
				f.Mutation, f.Mutation)
		case *eventlog.BackoffStarted:
			say("%s trying again %s", p.Style.Yellow("↻"), in(f.Until, r.At))
		case *eventlog.EventRetryScheduled:
			if retried++; retried == 1 {
				retry = f
			}
		case *eventlog.EventDiscarded:
			say("%s event %s of %s is put aside: its attempts are used up", p.Style.Red("✗"),
				OneLine(string(f.MessageID), maxTitle), f.Topic)
		case *eventlog.EventHeld:
			switch f.Reason {
			case eventlog.HeldRepair, eventlog.HeldPerson: // the other holds are shown by the line of the mutation
				say("%s event %s of %s is held for a %s: pawl why %s", p.Style.Red("■"),
					OneLine(string(f.MessageID), maxTitle), f.Topic, f.Reason, r.Workflow)
			}
		case *eventlog.HandlerProbeScheduled:
			if f.Attempt == 1 {
				say("%s %s is tried one run at a time, since several events failed alike; the next %s", p.Style.Yellow("↻"),
					f.Handler, in(f.At, r.At))
			}
		case *eventlog.HandlerProbingEnded:
			say("%s %s works on many events again", p.Style.Green("▶"), f.Handler)
		case *eventlog.HandlerUncertainCounted:
			if explain.BeginsNoRun(f) {
				say("%s %s begins no run any more: the outcome of %d calls in a row is not known: pawl why %s", p.Style.Red("■"),
					f.Handler, len(f.Mutations), r.Workflow)
			}
		case *eventlog.WorkflowBlocked:
			switch f.Reason {
			case eventlog.BlockApproval, eventlog.BlockReconcile, eventlog.BlockIndeterminate:
				// The line of the mutation shows these.
			default:
				say("%s held (%s): %s; more: pawl why %s", p.Style.Red("■"), f.Reason, OneLine(f.Message, 300), r.Workflow)
			}
		case *eventlog.MaintenanceEntered:
			say("%s held until its script is repaired: pawl why %s", p.Style.Red("■"), r.Workflow)
		case *eventlog.WorkflowPaused:
			say("%s paused by %s", p.Style.Yellow("■"), OneLine(r.Actor.Name, maxTitle))
		case *eventlog.WorkflowResumed:
			say("%s resumed by %s", p.Style.Green("▶"), OneLine(r.Actor.Name, maxTitle))
		case *eventlog.WorkflowArchived:
			say("%s archived by %s", p.Style.Yellow("■"), OneLine(r.Actor.Name, maxTitle))
			delete(p.active, r.Workflow)
		}
	}
	if retried > 0 {
		which, are := fmt.Sprintf("event %s of %s", OneLine(string(retry.MessageID), maxTitle), retry.Topic), "is"
		if retried > 1 {
			which, are = fmt.Sprintf("%s and %d more", which, retried-1), "are"
		}
		say("%s %s %s tried again %s", p.Style.Yellow("↻"), which, are, in(retry.At, r.At))
	}
	return out
}

// failedIn reports whether a run failed in the transition. If a mutation is left to a person in the same transition,
// its connector has not been asked about it.
func failedIn(r eventlog.Record) bool {
	return slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool { _, failed := f.(*eventlog.RunFailed); return failed })
}

// committed renders a commit, unless its mutation has had a line already or the run had no result.
func (p *Progress) committed(r eventlog.Record, run *running) string {
	consumed, skipped := 0, 0
	published := map[eventlog.Topic]int{}
	var topics []eventlog.Topic
	for _, fact := range r.Facts {
		switch f := fact.(type) {
		case *eventlog.EventConsumed:
			consumed++
		case *eventlog.EventSkipped:
			skipped++
		case *eventlog.EventPublished:
			if published[f.Topic]++; published[f.Topic] == 1 {
				topics = append(topics, f.Topic)
			}
		}
	}
	if consumed+skipped+len(topics) > 0 {
		p.counts.runs++
	}
	if run.mutated {
		return ""
	}
	var news []string
	for _, topic := range topics {
		news = append(news, fmt.Sprintf("%d new in %s", published[topic], topic))
	}
	switch {
	case consumed > 0:
		line := fmt.Sprintf("%s %s (%d consumed)", p.Style.Green("✓"),
			cmp.Or(OneLine(run.title, maxTitle), string(run.handler)), consumed)
		return strings.Join(append([]string{line}, news...), ", ")
	case len(news) > 0:
		return fmt.Sprintf("%s %s: %s", p.Style.Green("•"), run.handler, strings.Join(news, ", "))
	}
	return ""
}

func atLine(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// in says how far in the future a time is.
func in(then, now eventlog.Instant) string {
	d := then.Time().Sub(now.Time()).Round(100 * time.Millisecond)
	if d <= 0 {
		return "now"
	}
	return "in " + d.String()
}

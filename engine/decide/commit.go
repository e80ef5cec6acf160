package decide

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// CommitRun reports on next, or on a producer.
type CommitRun struct {
	Run       eventlog.RunID
	State     json.RawMessage // nil leaves the handler's state unchanged (R13)
	Publishes []Publish
	Inputs    []Input
	Failure   *eventlog.Failure
}

// passMutation moves a run past a mutation that was not made (R4, R5).
func (d *decision) passMutation(id eventlog.RunID) {
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseMutated})
	d.emit(&eventlog.RunAdvanced{Run: id, Phase: eventlog.PhaseEmitting})
}

// emitNext goes on with a run in emitting: with next's outcome if the runner has it already, or
// to the commit when there is no next handler to run (R3).
func (d *decision) emitNext(id eventlog.RunID, consumer eventlog.Consumer, next *CommitRun) error {
	switch {
	case d.err != nil:
		return nil
	case next != nil:
		return next.decide(d)
	case !consumer.HasNext:
		return CommitRun{Run: id}.decide(d)
	}
	return nil
}

// decide of CommitRun makes everything that the run buffered visible at once (R10).
func (c CommitRun) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok || run.Phase != eventlog.PhaseEmitting && run.Phase != eventlog.PhaseExecuting {
		return ErrStale
	}
	if c.Failure != nil {
		d.fail(run, *c.Failure)
		return nil
	}
	if run.Event != nil && c.State != nil {
		d.fail(run, *noState(run))
		return nil
	}
	if bad := d.checkPublishes(run, c); bad != nil {
		d.fail(run, *bad)
		return nil
	}
	if chained := d.chained(run, c); chained != nil {
		d.fail(run, *chained)
		return nil
	}
	if d.askPublished(run, c); d.err != nil {
		return nil
	}
	d.publishAll(run, c)
	taken := 0
	if run.Type == eventlog.ConsumerHandler {
		taken = d.finishEvents(run)
	}
	switch {
	case run.Event != nil:
		d.finishedOne(run)
	case run.Type == eventlog.ConsumerHandler:
		d.settleHandler(run, taken)
	}
	if c.State != nil {
		d.emit(&eventlog.HandlerStateSaved{Handler: run.Handler, State: c.State})
	}
	d.kind = "run.committed"
	d.emit(&eventlog.RunCommitted{Run: run.ID})
	d.repaired(run, taken)
	if run.Event == nil {
		d.recovered(run, taken)
	}
	return nil
}

// checkPublishes checks again what the sandbox has checked: R12, S8 and the rule that inputs
// belong to producers. What comes out of a script is never trusted.
func (d *decision) checkPublishes(run *projections.Run, c CommitRun) *eventlog.Failure {
	script := d.state().Script(run.Version)
	if script == nil {
		return failure(eventlog.Internal, "script.missing", "version %s of the script is not in memory", run.Version)
	}
	if run.Type != eventlog.ProducerHandler && len(c.Inputs) > 0 {
		return failure(eventlog.Logic, "phase.forbidden", "next of %s registers an input; only producers may", run.Handler)
	}
	registered := map[eventlog.InputID]bool{}
	for _, in := range c.Inputs {
		registered[in.ID()] = true
	}
	for _, p := range c.Publishes {
		if bad := checkPublish(run, script, p); bad != nil {
			return bad
		}
		if p.Input == "" {
			continue
		}
		if run.Type != eventlog.ProducerHandler {
			return failure(eventlog.Logic, "phase.forbidden",
				"next of %s links event %q to an input; its events inherit the inputs of the reserved ones", run.Handler,
				p.MessageID)
		}
		if !registered[p.Input] && d.input(p.Input) == nil {
			return failure(eventlog.Logic, "input.unknown", "%s links event %q to input %q, which was never registered",
				run.Handler, p.MessageID, p.Input)
		}
	}
	return nil
}

// checkPublish checks an event by itself, and that the run's handler may publish it to its topics.
func checkPublish(run *projections.Run, script *projections.Script, p Publish) *eventlog.Failure {
	var allowed []eventlog.Topic
	declared := false
	if run.Type == eventlog.ProducerHandler {
		h, _ := script.Definition.Producer(run.Handler)
		allowed, declared = h.Publishes, h.PublishesDeclared
	} else {
		h, _ := script.Definition.Consumer(run.Handler)
		allowed, declared = h.Publishes, h.PublishesDeclared
	}
	if err := p.MessageID.ValidatePublished(); err != nil {
		return failure(eventlog.Logic, "publish.invalid", "%s publishes an event whose %v", run.Handler, err)
	}
	if p.Title == "" {
		return failure(eventlog.Logic, "publish.invalid", "%s publishes event %q without a title", run.Handler, p.MessageID)
	}
	if len(p.Topics) == 0 {
		return failure(eventlog.Logic, "publish.invalid", "%s publishes event %q to no topic", run.Handler, p.MessageID)
	}
	for _, topic := range p.Topics {
		if !script.Definition.HasTopic(topic) {
			return failure(eventlog.Logic, "topic.unknown", "%s publishes to topic %q, which the workflow does not declare",
				run.Handler, topic)
		}
		if declared && !slices.Contains(allowed, topic) {
			return failure(eventlog.Logic, "topic.undeclared", "%s publishes to topic %q, which its `publishes` does not list",
				run.Handler, topic)
		}
	}
	return nil
}

// chained is R20: a consumer's publications that lead to each other are stopped at the policy's depth, until a person
// says that they are meant to go on. What is known already does not go on by a repeat (R11).
func (d *decision) chained(run *projections.Run, c CommitRun) *eventlog.Failure {
	most := d.env.Policies.Chain.Depth
	if run.Type != eventlog.ConsumerHandler || run.Depth < most {
		return nil
	}
	for _, p := range c.Publishes {
		for _, topic := range p.Topics {
			if d.event(topic, p.MessageID) != nil {
				continue
			}
			return failure(eventlog.Precondition, projections.CodeChain, "next of %s publishes event %q to topic %q, and %d "+
				"publications before it have each led to the next: if they go round in a circle, repair the script; if they "+
				"are meant to go on, resume the workflow, which allows as many again (policies.chain.depth)", run.Handler,
				eventlog.ClipName(p.MessageID), topic, run.Depth)
		}
	}
	return nil
}

// askPublished looks up all that may be known already of what the run publishes: it is read together, before anything
// is folded.
func (d *decision) askPublished(run *projections.Run, c CommitRun) {
	for _, in := range c.Inputs {
		d.input(in.ID())
	}
	for _, p := range c.Publishes {
		for _, topic := range p.Topics {
			d.event(topic, p.MessageID)
			if run.Type == eventlog.ProducerHandler && p.Input == "" {
				d.input(producedInput(topic, p).ID())
			}
		}
	}
}

func (d *decision) publishAll(run *projections.Run, c CommitRun) {
	named := map[eventlog.InputID]bool{}
	for _, in := range c.Inputs {
		named[d.register(in.ID(), in)] = true
	}
	inherited := d.causes(run)
	for _, p := range c.Publishes {
		for _, topic := range p.Topics {
			by := inherited
			if run.Type == eventlog.ProducerHandler {
				id := p.Input
				switch own := producedInput(topic, p); {
				case id != "":
				case named[own.ID()]:
					id = own.ID() // the script has given it a title of its own
				default:
					id = d.standIn(own)
				}
				by = []eventlog.InputID{id}
			}
			d.publish(topic, p.MessageID, p.Title, p.Payload, run.ID, by)
		}
	}
}

// noState is C4: runs that are active at the same time would overwrite each other's state.
func noState(run *projections.Run) *eventlog.Failure {
	return failure(eventlog.Logic, "concurrency.state",
		"next of %s returns a state, but a consumer with concurrency has none; publish what has to be kept", run.Handler)
}

// finishEvents consumes what the run holds, and skips what prepare cancelled (J5) or a person
// asked to skip meanwhile (O7). It returns how many events the run took out of its topics.
func (d *decision) finishEvents(run *projections.Run) (taken int) {
	taken = len(run.Reserved)
	cancelled := make(map[eventlog.EventRef]string, len(run.Cancel))
	for _, x := range slices.Backward(run.Cancel) { // of two the first counts
		cancelled[eventlog.EventRef{Topic: x.Topic, MessageID: x.MessageID}] = x.Reason
	}
	for _, e := range d.state().ReservedBy(run) {
		reason, cancel := cancelled[eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}]
		if cancel || e.SkipRequested {
			d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason})
		} else if run.Empty {
			d.putOff(run, e)
		} else {
			d.emit(&eventlog.EventConsumed{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
	for _, x := range run.Cancel {
		if e := d.event(x.Topic, x.MessageID); e != nil && e.Status == eventlog.EventStatusPending {
			d.emit(&eventlog.EventSkipped{Topic: x.Topic, MessageID: x.MessageID, Run: run.ID, Reason: x.Reason})
			taken++
		}
	}
	return taken
}

// putOff gives back an event that prepare has not chosen: it is invisible until the run's wakeAt, or as long as a
// wakeAt may lie ahead. A deploy ends that, also one since prepare has looked (C6).
func (d *decision) putOff(run *projections.Run, e *projections.TopicEvent) {
	until := run.WakeAt
	switch {
	case d.preparedBy(run) != d.state().Version:
		until = 0
	case until == 0:
		until = d.env.Now.Add(d.env.Policies.Wake.Max)
	}
	d.emit(&eventlog.EventDeferred{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Until: until})
}

// preparedBy is the version whose prepare the run goes on with: that of the first run of its chain (R15).
func (d *decision) preparedBy(run *projections.Run) eventlog.Version {
	for first := range d.chain(run) {
		run = first
	}
	return run.Version
}

// chain yields the runs that the run is a retry of, the latest first.
func (d *decision) chain(run *projections.Run) iter.Seq[*projections.Run] {
	return func(yield func(*projections.Run) bool) {
		for run.RetryOf != "" {
			before := d.state().Run(run.RetryOf)
			if before == nil {
				d.ask(projections.RunKey(run.RetryOf))
				return
			}
			if run = before; !yield(run) {
				return
			}
		}
	}
}

// finishedOne notes what the commit of a run of one event proves: that its target works (C7), and that a repair has
// helped, if the script had failed on the event before (F9).
func (d *decision) finishedOne(run *projections.Run) {
	h := d.state().Handler(run.Handler)
	e := d.event(run.Event.Topic, run.Event.MessageID)
	if d.err != nil || h == nil || e == nil {
		return
	}
	d.endProbingIfProven(run, e)
	if h.RepairFailures > 0 && e.Status == eventlog.EventStatusConsumed && failedByScript(e) {
		d.emit(&eventlog.HandlerRepairCounted{Handler: run.Handler})
	}
}

// settleHandler updates the consumer at a commit (S3, S4). It replaces wakeAt. After an empty run it marks as seen what
// peek could see; after a run that took events the consumer looks again. A retry run (R15) has not peeked, so it marks
// nothing: what came since its chain began would wait for ever.
func (d *decision) settleHandler(run *projections.Run, taken int) {
	h := d.state().Handler(run.Handler)
	if h == nil || d.err != nil {
		return
	}
	if h.WakeAt != run.WakeAt {
		d.emit(&eventlog.HandlerWakeRequested{Handler: h.Name, WakeAt: run.WakeAt})
	}
	switch {
	case taken > 0 && h.DirtyAt == 0:
		d.emit(&eventlog.HandlerDirtied{Handler: h.Name})
	case taken == 0 && run.RetryOf == "" && h.DirtyAt > 0 && h.DirtyAt <= run.StartRevision:
		d.emit(&eventlog.HandlerCleaned{Handler: h.Name})
	}
}

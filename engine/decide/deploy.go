package decide

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Deploy makes a checked script the current version.
type Deploy struct {
	Definition eventlog.Definition
	Filename   string
	Source     string
	SourceHash string
	// Grants replace the present ones; nil keeps them.
	Grants map[string]eventlog.Grant
	// GrantUsed allows all that a new workflow uses, unless Grants say otherwise.
	GrantUsed bool
	// Expected refuses the deploy when the running version is another one.
	Expected *eventlog.Version
	// Repair makes it a minor version (F9). What a repair must keep is checked against the
	// Expected version, so that must be given.
	Repair bool
	Note   string
	// KeepApprovals refuses the deploy where the running version asks people about its calls (O5): a new script can take
	// that away. It is for models that deploy.
	KeepApprovals bool
	// KeepRepairBudget leaves the count of failed repairs as it is, and refuses the deploy where the budget is spent (F9).
	// It is for models that deploy: with a count that each deploy resets they would try forever.
	KeepRepairBudget bool
}

// namesLost is why a workflow without a past is held.
const namesLost = "a part of the log is lost, and a workflow of this name may have been in it: " +
	"what that one did would be done again"

func (c Deploy) decide(d *decision) error {
	s := d.state()
	exists := s.Version != ""
	if exists && s.Archived {
		return refuse(Conflict, "workflow.archived", "workflow %s is archived for good; deploy under another name", s.Name).
			hint(hint.Rename)
	}
	if c.Expected != nil && !exists {
		return refuse(Conflict, "version.moved", "workflow %s is not deployed yet, so it does not run version %s", s.Name,
			*c.Expected).
			hint(hint.FirstDeploy)
	}
	if c.Expected != nil && *c.Expected != s.Version {
		return RefuseMoved(s, *c.Expected)
	}
	if err := c.allowed(d); err != nil {
		return err
	}
	if old := s.Script(s.Version); exists && !c.Repair && old != nil && old.SourceHash == c.SourceHash &&
		samePins(old.Definition, c.Definition) {
		// The bytes already running: no new version. A plain deploy of them still says that they are
		// right (F9), and what they may do.
		if c.Grants != nil && !maps.Equal(c.Grants, s.Grants) {
			d.emitNaming(&eventlog.WorkflowGranted{Grants: c.Grants})
		}
		d.endMaintenance(!c.KeepRepairBudget)
		return nil
	}
	if held := RefuseHeld(s, &c.Definition); held != nil {
		return held
	}
	before, grants := s.Definition(), c.grants(s)
	forgotten := d.env.NamesLost && s.Head.Revision == 1 // this is the first revision
	if forgotten && c.Grants == nil {
		grants = askingFor(&c.Definition, grants)
	}
	d.endProbingOfPlain(&c.Definition)
	d.endFailuresOfPlain(&c.Definition)
	d.emitNaming(&eventlog.WorkflowDeployed{
		Version: s.Version.Next(c.Repair), Filename: c.Filename, Source: c.Source, SourceHash: c.SourceHash,
		Definition: c.Definition, Grants: grants, Repair: c.Repair, Note: c.Note,
	})
	for _, p := range c.Definition.Producers {
		if at, changed := d.firstDue(before, p); changed {
			d.emit(&eventlog.HandlerScheduled{Handler: p.Name, NextRunAt: at})
		}
	}
	for _, consumer := range c.Definition.Consumers {
		if !consumer.Concurrent() {
			d.emit(&eventlog.HandlerDirtied{Handler: consumer.Name}) // once at deploy, also of a new version (S3)
		}
	}
	if d.err != nil {
		return nil
	}
	if forgotten {
		d.emit(&eventlog.WorkflowBlocked{Reason: eventlog.BlockLoss, Message: namesLost})
	}
	plain := !c.Repair && !c.KeepRepairBudget
	d.endMaintenance(plain)
	if c.KeepRepairBudget {
		d.countDeployAsRepair()
	}
	d.freeAtDeploy(plain)
	return nil
}

// endProbingOfPlain ends the probing of consumers that are not concurrent before the deploy or after it. No run of a
// plain consumer is a probe, so nothing else would end it, and a later version with concurrency would begin with it
// (C7). Call it before the deploy is emitted: the fact makes back-offs due only while their consumer is concurrent.
func (d *decision) endProbingOfPlain(next *eventlog.Definition) {
	var ended []*projections.Handler // collected first: each fact changes the state
	for name, h := range d.state().Handlers() {
		was, _ := d.state().Definition().Consumer(name)
		is, _ := next.Consumer(name)
		if h.Probing != nil && !(was.Concurrent() && is.Concurrent()) {
			ended = append(ended, h)
		}
	}
	for _, h := range ended {
		d.endProbing(h)
	}
}

// endFailuresOfPlain ends what is left of the failures of consumers that are not plain any more, or dropped: the
// successes of concurrent consumers end neither such a count nor the workflow's back-off. Where a plain handler is
// left, the back-off may be about that one: it goes on, and what is counted and needs attention begins anew. Where none
// is left, the back-off ends, and so does a hold that only a failure of such a handler has made (F8, C8, C9).
func (d *decision) endFailuresOfPlain(next *eventlog.Definition) {
	var over []eventlog.Handler // collected first: each fact changes the state
	for name, h := range d.state().Handlers() {
		if c, kept := next.Consumer(name); h.Failures > 0 && (!kept || c.Concurrent()) {
			over = append(over, name)
		}
	}
	for _, name := range over {
		d.emit(&eventlog.HandlerFailuresCounted{Handler: name})
	}
	left := plainHandlers(next)
	lost := slices.ContainsFunc(plainHandlers(d.state().Definition()), func(h eventlog.Handler) bool {
		return !slices.Contains(left, h)
	})
	b := d.state().Backoff
	if b != nil && len(left) == 0 {
		d.emit(&eventlog.BackoffCleared{})
	} else if b != nil && b.Attempt > 0 && lost { // the handler that failed may be gone: it counts anew
		d.emit(&eventlog.BackoffStarted{Until: b.Until})
	}
	if len(left) == 0 {
		d.unblock(eventlog.BlockTransient, eventlog.BlockLogic, eventlog.BlockAuth, eventlog.BlockPermission,
			eventlog.BlockPrecondition, eventlog.BlockInternal)
	}
}

// plainHandlers are the producers of the definition, and its consumers without concurrency.
func plainHandlers(def *eventlog.Definition) (names []eventlog.Handler) {
	for _, p := range def.Producers {
		names = append(names, p.Name)
	}
	for _, c := range def.Consumers {
		if !c.Concurrent() {
			names = append(names, c.Name)
		}
	}
	return names
}

// RefuseMoved refuses a script that was made for another version than the one that runs.
func RefuseMoved(s *projections.State, expected eventlog.Version) *Refusal {
	return refuse(Conflict, "version.moved", "workflow %s runs version %s, not %s", s.Name, s.Version, expected).
		hint(hint.DeployOnRunning, s.Name)
}

// allowed refuses a deploy that has to keep approvals, where a script can take some away, or a budget that is spent;
// and a repair that was not requested: a late one would replace what a person has deployed meanwhile (F9).
func (c Deploy) allowed(d *decision) error {
	s, budget := d.state(), d.env.Policies.Repair.Budget
	running := s.Script(s.Version)
	asking, asks := s.Definition().Asks()
	switch {
	case c.KeepApprovals && asks && (running == nil || running.SourceHash != c.SourceHash):
		return refuse(Conflict, "approval.kept", "consumer %s of workflow %s asks a person about its calls, and a new "+
			"script could take that away", asking, s.Name).hint(hint.PersonDeploys)
	case c.KeepRepairBudget && RepairsSpent(s, budget):
		return refuseSpent(s)
	case !c.Repair:
		return nil
	case c.Expected == nil:
		return refuse(Invalid, "repair.version",
			"a repair must say which version it repairs").hint(hint.RunningVersion, s.Name)
	case !RepairWanted(s):
		return RefuseNotRequested(s, budget)
	}
	if no := refuseKept(s, &c.Definition); no != nil {
		return no
	}
	return nil
}

// firstDue is when the deploy lets the producer run, false when it stays due as it is (S2). An interval
// is due at once; a cron expression names times, and a deploy is none of them.
func (d *decision) firstDue(before *eventlog.Definition, p eventlog.Producer) (eventlog.Instant, bool) {
	old, known := before.Producer(p.Name)
	switch {
	case p.RunOnDeploy:
		return d.env.Now, true
	case known && old.SameSchedule(p):
		return 0, false
	case p.Cron != "":
		return d.env.NextDue[p.Name], true
	}
	return d.env.Now, true
}

// grants are those that the deploy leaves the workflow with. What a person decided stays, patterns
// included; a new operation that no entry covers is allowed if it reads and asks if it mutates, see
// capability.Granted. An operation that used to read and mutates now asks again, if it was allowed by its own
// entry: that allowed a read.
func (c Deploy) grants(s *projections.State) map[string]eventlog.Grant {
	if c.Grants != nil {
		return c.Grants
	}
	grants := maps.Clone(s.Grants)
	if s.Version == "" && len(s.Grants) == 0 && c.GrantUsed {
		// Each by an entry of its own, so that an operation added later is not covered.
		grants = make(map[string]eventlog.Grant, len(c.Definition.Operations))
		for _, op := range c.Definition.Operations {
			grants[op.Capability()] = eventlog.GrantAllow
		}
	}
	for _, op := range c.Definition.Operations {
		before, known := s.Definition().Operation(op.Connector, op.Operation)
		if known && before.Kind != kindMutate && op.Kind == kindMutate && grants[op.Capability()] == eventlog.GrantAllow {
			grants[op.Capability()] = eventlog.GrantAsk
		}
	}
	return grants
}

// samePins reports whether a deploy would pin the same operations: if a tool has changed, the
// same bytes are a new version, or its change could never be accepted.
func samePins(a, b eventlog.Definition) bool {
	return slices.EqualFunc(a.Operations, b.Operations, func(x, y eventlog.Operation) bool {
		return x.Connector == y.Connector && x.Operation == y.Operation && x.Kind == y.Kind &&
			bytes.Equal(x.Schema, y.Schema) && x.Reconciles == y.Reconciles && x.TimeoutMS == y.TimeoutMS
	})
}

// RefuseHeld is O9: it refuses a definition without a consumer or subscription whose run holds
// reservations, is past prepare or owes a retry. It returns nil when there is no such run.
func RefuseHeld(s *projections.State, def *eventlog.Definition) *Refusal {
	for _, run := range []*projections.Run{s.CurrentRun(), s.RetryRun()} {
		if run == nil || run.Type != eventlog.ConsumerHandler {
			continue
		}
		reserved := s.ReservedBy(run)
		if len(reserved) == 0 && run.Phase == eventlog.PhasePreparing {
			continue // its prepare is dropped if it chooses what is gone
		}
		c, ok := def.Consumer(run.Handler)
		if !ok {
			return refuse(Conflict, CodeHolds,
				"run %s of consumer %s is not over and holds %s, so this version may not drop the consumer",
				run.ID, run.Handler, eventlog.Count(len(reserved), "reserved event")).
				hint(hint.KeepConsumer, run.Handler, s.Name)
		}
		for _, e := range reserved {
			if !c.Subscribes(e.Topic) {
				return refuse(Conflict, CodeHolds,
					"run %s of consumer %s holds events of topic %s, so this version may not drop the subscription", run.ID,
					run.Handler, e.Topic).
					hint(hint.KeepSubscription, s.Name)
			}
		}
	}
	return heldConcurrent(s, def)
}

// CodeHolds is the code of a deploy that O9 refuses.
const CodeHolds = "deploy.holds"

// heldConcurrent is O9 for concurrent consumers: while runs of one are open or events held, a version may not drop it,
// what they are subscribed to, or its concurrency; and a consumer with a run or a retry may not become one (C9).
func heldConcurrent(s *projections.State, def *eventlog.Definition) *Refusal {
	for _, old := range s.Definition().Consumers {
		now, kept := def.Consumer(old.Name)
		if !old.Concurrent() {
			if run := lastOf(s, old.Name); kept && now.Concurrent() && run != nil {
				return refuse(Conflict, CodeHolds,
					"run %s of consumer %s is not over, so this version may not give the consumer concurrency", run.ID, old.Name).
					hint(hint.PauseFirst, s.Name)
			}
			continue
		}
		var holds eventlog.EventRef
		what := ""
		for run := range s.OpenRuns() {
			if run.Handler == old.Name && (!kept || !now.Concurrent() || !now.Subscribes(run.Event.Topic)) {
				holds = *run.Event
				what = "run " + string(run.ID) + " is not over and has " + named(holds)
				break
			}
		}
		for _, n := range s.Counts.Held {
			if what == "" && old.Subscribes(n.Topic) && (!kept || !now.Concurrent() || !now.Subscribes(n.Topic)) {
				holds = heldOf(s, n.Topic)
				what = named(holds) + " is held"
			}
		}
		if what == "" {
			continue
		}
		drops := "consumer " + string(old.Name)
		switch {
		case kept && !now.Concurrent():
			drops = "the concurrency of " + drops
		case kept:
			drops = "the subscription of " + drops + " to topic " + string(holds.Topic)
		}
		return refuse(Conflict, CodeHolds, "%s, so this version may not drop %s", what, drops).
			hint(hint.KeepUntilFree, s.Name)
	}
	return nil
}

// named is how a refusal names an event.
func named(e eventlog.EventRef) string {
	return fmt.Sprintf("event %q of topic %s", eventlog.ClipName(e.MessageID), e.Topic)
}

// lastOf is the plain consumer's run that is not over, nil for none.
func lastOf(s *projections.State, handler eventlog.Handler) *projections.Run {
	for _, run := range []*projections.Run{s.CurrentRun(), s.RetryRun()} {
		if run != nil && run.Handler == handler {
			return run
		}
	}
	return nil
}

// heldOf is the oldest held event of the topic.
func heldOf(s *projections.State, topic eventlog.Topic) eventlog.EventRef {
	var oldest *projections.TopicEvent
	for _, e := range s.Events() {
		if e.Topic == topic && e.Held != nil && (oldest == nil || e.Created.Before(oldest.Created)) {
			oldest = e
		}
	}
	if oldest == nil {
		return eventlog.EventRef{Topic: topic}
	}
	return eventlog.EventRef{Topic: topic, MessageID: oldest.MessageID}
}

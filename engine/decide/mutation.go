package decide

import (
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// FinishMutate reports on mutate: the call it named, none, or a failure; with both a call that must
// not be sent (F14).
type FinishMutate struct {
	Run  eventlog.RunID
	Call *eventlog.MutationCall
	// Host is where the call goes, empty where it goes to none: grants may name it.
	Host string
	// Secrets names the secrets of the configuration that the call carries: each has to be granted.
	Secrets []string
	// Asks says that the script wants a person to approve the call, whatever is granted (O5).
	Asks    bool
	Failure *eventlog.Failure
	// Waited says that the call has waited for its turn at its target, and that the workflow was not paused before.
	Waited bool
}

// Approve lets exactly the recorded call leave (O5).
type Approve struct {
	Mutation eventlog.MutationID
	// ParamsHash, if set, must be the recorded one: what the person looked at.
	ParamsHash string
	// Comment is what the person says with it, empty for nothing; at most 4 KiB.
	Comment string
}

// Reject goes on without the call (O5).
type Reject struct {
	Mutation eventlog.MutationID
	Comment  string
}

func (c FinishMutate) decide(d *decision) error {
	run, ok := d.active(c.Run)
	if !ok || run.Mutation != "" || run.Phase != eventlog.PhaseMutating && run.Phase != eventlog.PhasePrepared {
		return ErrStale
	}
	if c.Failure != nil && c.Call != nil {
		d.refuseCall(run, *c.Call, *c.Failure)
		return nil
	}
	if c.Failure != nil {
		d.fail(run, *c.Failure)
		return nil
	}
	if c.Call == nil {
		if run.Phase == eventlog.PhasePrepared {
			d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutating})
		}
		d.passMutation(run.ID)
		return d.emitNext(run.ID, d.consumer(run), nil)
	}
	if d.state().Pause != nil && c.Waited {
		d.abort(run, "the workflow was paused while its call waited for its turn") // an early stop, and no failure (O6)
		d.kind = "run.failed"
		return nil
	}
	call := *c.Call
	call.UITitle = run.UITitle
	id := eventlog.MutationID(run.ID)
	if denied := capability.DeniedSecret(d.state().Name, d.state().Grants, c.Secrets); denied != nil {
		d.fail(run, *denied)
		return nil
	}
	granted := capability.GrantedAt(d.state().Grants, call.Connector, call.Operation, c.Host, true)
	if d.needsApproval(run, c.Asks) && granted == eventlog.GrantAllow {
		granted = eventlog.GrantAsk
	}
	switch granted {
	case eventlog.GrantDeny:
		d.fail(run, *capability.Denied(d.state().Name, call.Connector, call.Operation, c.Host))
	case eventlog.GrantAllow:
		d.startMutation(run, id, call)
	default:
		d.emitNaming(&eventlog.MutationApprovalRequested{Mutation: id, Run: run.ID, Call: call})
		d.emit(&eventlog.RunSuspended{Run: run.ID})
		if d.err == nil {
			d.holdFor(d.state().Mutation(id), run.ID)
		}
	}
	return nil
}

// needsApproval reports whether a person approves the run's call although it is granted (O5). Where the script of the
// workflow asks about any call, a repair may have changed the function that asks, or may have moved the call to a
// consumer that does not ask: a person then approves each call of a repaired version, until a deploy.
func (d *decision) needsApproval(run *projections.Run, script bool) bool {
	_, asks := d.state().Definition().Asks()
	return script || d.consumer(run).Approval == eventlog.ApprovalAlways || asks && run.Version.Repaired()
}

// refuseCall is F14: the call is in the ledger as failed and never sent, in the failure's own transition.
func (d *decision) refuseCall(run *projections.Run, call eventlog.MutationCall, f eventlog.Failure) {
	call.UITitle = run.UITitle
	refused := &eventlog.MutationRefused{Mutation: eventlog.MutationID(run.ID), Run: run.ID, Call: call, Failure: f}
	d.emit(refused)
	if d.err == nil {
		d.fail(d.state().Run(run.ID), f)
	}
	d.kind = refused.FactType()
}

func (c Approve) decide(d *decision) error {
	m, run, err := d.awaiting(c.Mutation, "approved")
	if err != nil {
		return err
	}
	if no := commentable(c.Comment); no != nil {
		return no
	}
	s := d.state()
	switch d.env.Standstill {
	case DamageStandstill:
		return refuse(Conflict, "workflow.damaged", "the log of workflow %s is damaged: its calls are not sent",
			s.Name).hint(hint.Why, s.Name)
	case EngineStandstill:
		return refuse(Conflict, "engine.held", "this engine sends no call of workflow %s now: it is stopping, it hands the "+
			"workflow over, or its storage is short of space or does not answer", s.Name).hint(hint.ApproveLater)
	}
	if s.Pause != nil {
		return refuse(Conflict, "workflow.paused", "workflow %s is paused: its calls are not sent",
			s.Name).hint(hint.Resume, s.Name)
	}
	if c.ParamsHash != "" && c.ParamsHash != m.Call.ParamsHash {
		return refuse(Conflict, "approval.changed", "mutation %s awaits approval of other parameters (hash %s)", m.ID,
			m.Call.ParamsHash).
			hint(hint.ApproveRecorded, m.ID)
	}
	d.emit(&eventlog.MutationApproved{Mutation: m.ID, ParamsHash: m.Call.ParamsHash})
	d.comment(m.ID, c.Comment)
	if run.Event != nil {
		d.freeEvent(run) // it starts with its place (C3)
		return nil
	}
	// One transition, and the barrier: a crash after it is a crash in flight.
	d.emit(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	d.unblock(eventlog.BlockApproval)
	d.startMutation(run, m.ID, m.Call)
	return nil
}

func (c Reject) decide(d *decision) error {
	m, run, err := d.awaiting(c.Mutation, "rejected")
	if err != nil {
		return err
	}
	if no := commentable(c.Comment); no != nil {
		return no
	}
	d.emitNaming(&eventlog.MutationSkipped{Mutation: m.ID, Run: run.ID, ResolvedBy: eventlog.ResolvedByUserReject})
	d.comment(m.ID, c.Comment)
	if run.Event != nil {
		d.skipEventsOf(run, "rejected")
		d.emit(&eventlog.RunAdvanced{Run: run.ID, Phase: eventlog.PhaseMutated}) // next comes with its place (C3)
		return nil
	}
	d.emit(&eventlog.RunReactivated{Run: run.ID, Engine: d.env.Engine})
	d.unblock(eventlog.BlockApproval)
	d.skipEventsOf(run, "rejected")
	d.passMutation(run.ID)
	err = d.emitNext(run.ID, d.consumer(run), nil)
	d.kind = "mutation.skipped"
	return err
}

func (d *decision) awaiting(id eventlog.MutationID, verb string) (*projections.Mutation, *projections.Run, error) {
	m, err := d.mutationByID(id)
	if err != nil {
		return nil, nil, err
	}
	run := d.state().CurrentRun()
	if d.state().Open(m.Run) {
		run = d.state().Run(m.Run)
	}
	switch {
	case m.Status == eventlog.MutationStatusAwaitingApproval && m.ApprovedAt != 0:
		no := refuse(Conflict, "mutation.state", "mutation %s is approved and waits for its place, and then "+
			"leaves by itself; it cannot be %s any more", m.ID, verb)
		if run == nil || run.Event == nil {
			return nil, nil, no.hint(hint.Outcome, m.ID)
		}
		return nil, nil, no.hint(hint.SkipApproved, d.state().Name, run.Event.Topic, m.ID)
	case m.Decision != nil && m.Decision.What == projections.DecidedRejected:
		return nil, nil, refuse(Conflict, "mutation.state", "mutation %s was rejected by %s; only one that awaits approval "+
			"can be %s", m.ID, m.Decision.By.Name, verb).
			hint(hint.Outcome, m.ID)
	case m.Status != eventlog.MutationStatusAwaitingApproval || run == nil || run.Mutation != m.ID:
		return nil, nil, refuse(Conflict, "mutation.state", "mutation %s is %s; only one that awaits approval can be %s",
			m.ID, m.Status, verb).
			hint(hint.Outcome, m.ID)
	}
	return m, run, nil
}

func (d *decision) mutationByID(id eventlog.MutationID) (*projections.Mutation, error) {
	if m := d.state().Mutation(id); m != nil {
		return m, nil
	}
	d.ask(projections.MutationKey(id))
	return nil, refuse(NotFound, "mutation.unknown", "workflow %s has no mutation %q", d.state().Name,
		id).hint(hint.Mutations)
}

// maxComment bounds a comment in bytes: it becomes part of the log.
const maxComment = 4 << 10

// comment notes in this transition what the person has said with the decision.
func (d *decision) comment(m eventlog.MutationID, text string) {
	if text != "" && d.err == nil {
		d.emit(&eventlog.MutationCommented{Mutation: m, Comment: text})
	}
}

// commentable refuses a comment that the log cannot take.
func commentable(text string) *Refusal {
	if len(text) > maxComment || !utf8.ValidString(text) {
		return refuse(Invalid, "comment.invalid", "the comment has %d bytes; it must be text of at most %d", len(text),
			maxComment).
			hint(hint.Comment)
	}
	return nil
}

// skipEventsOf ends the run's events as skipped in this transition; they stay skipped even if next
// fails (O2).
func (d *decision) skipEventsOf(run *projections.Run, reason string) {
	for _, e := range d.state().ReservedBy(run) {
		d.emit(&eventlog.EventSkipped{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID, Reason: reason})
	}
}

// startMutation is the barrier: once this is durable, the request may leave, until its deadline.
func (d *decision) startMutation(run *projections.Run, id eventlog.MutationID, call eventlog.MutationCall) {
	d.emitNaming(&eventlog.MutationStarted{
		Mutation: id, Run: run.ID, Call: call, Key: IdempotencyKey(d.state().Name, id),
		Deadline: d.env.Now.Add(time.Duration(call.TimeoutMS) * time.Millisecond), Engine: d.env.Engine,
	})
}

// IdempotencyKey is derived from the chain's first run, so every look at the same mutation
// carries the same key.
func IdempotencyKey(w eventlog.WorkflowName, id eventlog.MutationID) string {
	return "pawl-" + string(w) + "-" + string(id)
}

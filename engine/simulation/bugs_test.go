package simulation_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/simulation"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// TestBugsAreFound breaks the engine in one way each and expects the simulation to notice: an
// invariant that no bug can break would prove nothing.
func TestBugsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its bugs check the simulation, not the engine")
	}
	t.Parallel()
	bugs := []struct {
		name string
		// focus is of the seeds that find it soon.
		focus simulation.Focus
		// sign is in the message of some seed's violation.
		sign string
		cfg  simulation.Config
	}{
		{"send before record", simulation.LostAnswers, "left before the start",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return eager{c} }}},
		{"resend instead of reconcile", simulation.LostCallers, "was sent 2 times",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return resending{c} }}},
		{"an uncertain call taken for a failed one", simulation.LostCallers, "and took effect",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return confident{c} }}},
		{"no trace of a call taken for proof while it may be under way", simulation.LostCallers, "may still be busy with it",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return hasty{c} }}},
		{"another process's call taken as over at once", simulation.LostCallers, "may still be busy with it",
			simulation.Config{Decide: overAtOnce}},
		{"another process's call left to a person at once", simulation.LostCallers, "is left to a person",
			simulation.Config{Decide: overAtOnce}},
		{"an open exchange taken for ended at its deadline", simulation.OpenExchanges, "may still be busy with it",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return closed{c} }}},
		{"a slow receiver hurried by a restart", simulation.OpenExchanges, "may still be busy with it",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return hurried{c} }}},
		{"the end of an open exchange not told", simulation.OpenExchanges, "does not come to rest",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return deaf{c} }}},
		{"open exchanges that never give way", simulation.OpenExchanges, "exchanges open at once",
			simulation.Config{Unbounded: true}},
		{"a receiver's Retry-After counted against the job", simulation.BusyReceivers, "(F13)",
			simulation.Config{Decide: rewriting(countBusy)}},
		{"a crash counted against the job", simulation.Resends, "only the engine is to blame",
			simulation.Config{Decide: rewriting(countCrash)}},
		{"phase tested before mutation state", simulation.LostAnswers, "R16",
			simulation.Config{Decide: rewriting(phaseFirst)}},
		{"pending retry cleared", simulation.LostCallers, "that no run holds",
			simulation.Config{Decide: rewriting(forgetRetry)}},
		{"dirty flag cleared at commit", simulation.LostAnswers, "is pending",
			simulation.Config{Decide: rewriting(cleanAtCommit)}},
		{"settlement dropped when its run has ended", simulation.OpenExchanges, "",
			simulation.Config{Decide: dropSettlement}},
		{"a changed tool called all the same", simulation.BusyReceivers, "is not what version",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return unaware{c} }}},
		{"append without a fence", simulation.SharedPartition, "fold",
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return unfenced{l} }}},
		{"unacknowledged append taken for refused", simulation.Resubscriptions, "",
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return impatient{l} }}},
		{"an append that the log settled by itself taken for the last", simulation.SharedPartition,
			"had written after its start", simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return silent{l} }}},
		{"a checkpoint that passes what others have written", simulation.SharedPartition, "the checkpoint of engine",
			simulation.Config{Store: func(s engine.Store) engine.Store { return leaping{s} }}},
		{"what others have written never looked into", simulation.SharedPartition, "does not get to the end of the log",
			simulation.Config{Unwatched: true}},
		{"ended events queued again when their topic gets a consumer again", simulation.Resubscriptions,
			"knows the pending events", simulation.Config{Store: func(s engine.Store) engine.Store { return newHoarding(s) }}},
		{"a no to a resend taken for one to the call", simulation.Resends, "and took effect",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return discouraged{c} }}},
		{"a resend while the call may be under way", simulation.Resends, "may still be busy with it",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return hasty{c} }}},
		{"a resend after its receiver may have forgotten the call", simulation.Resends, "and its receiver knows it until",
			simulation.Config{Decide: unmindful}},
		{"a resend that sends twice", simulation.Resends, "was sent 3 times",
			simulation.Config{Connectors: func(c engine.Connectors) engine.Connectors { return insistent{c} }}},
		{"nothing remembered of what is given up", simulation.Losses, "after a loss the ledger has it as",
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return forgetful{l.(eventlog.LossKeeper)} }}},
		{"a hole in the log that hides nothing", simulation.Losses, "goes on after a loss",
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return seamless{l.(eventlog.LossKeeper)} }}},
		{"unacknowledged append taken for written", simulation.LostAnswers, "",
			simulation.Config{Log: func(l eventlog.Log) eventlog.Log { return trusting{l} }}},
	}
	for _, bug := range bugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			cfg := bug.cfg
			cfg.Focus = bug.focus
			mustFind(t, cfg, bug.sign, 1, 600)
		})
	}
}

// mustFind runs the seeds, so many from the first one on, until a violation has the sign in its message.
func mustFind(t *testing.T, cfg simulation.Config, sign string, first, bound uint64) {
	t.Helper()
	for n := range bound {
		cfg.Seed = first + n
		_, err := simulate(t, cfg)
		var found *simulation.Violation
		if errors.As(err, &found) && strings.Contains(found.Message, sign) {
			t.Logf("seed %d: %s", found.Seed, found.Message)
			return
		}
	}
	t.Fatalf("not found in %d seeds", bound)
}

// outside is embedded under another name than its own method has.
type outside interface{ engine.Connectors }

// eager performs a call when the engine has only just heard of it.
type eager struct{ outside }

func (c eager) Reconciles(call connector.Call) bool {
	call.Key = decide.IdempotencyKey(call.Workflow, eventlog.MutationID(call.Run))
	_ = c.Perform(context.Background(), call)
	return c.outside.Reconciles(call)
}

// resending sends again to find out.
type resending struct{ outside }

func (c resending) Reconcile(ctx context.Context, call connector.Call) connector.Reconciliation {
	if c.Perform(ctx, call).Status == connector.Applied {
		return connector.Reconciliation{Verdict: connector.VerdictApplied}
	}
	return connector.Reconciliation{}
}

// confident takes no answer for a no.
type confident struct{ outside }

func (c confident) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	out := c.outside.Perform(ctx, call)
	if out.Status == connector.Uncertain {
		out.Status = connector.Failed
	}
	return out
}

// discouraged takes every answer to a resend but applied for a no for good.
type discouraged struct{ outside }

func (c discouraged) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	out := c.outside.Perform(ctx, call)
	if call.Resend && out.Status == connector.Uncertain && !out.Open {
		return connector.FailedWith(&eventlog.Failure{Class: eventlog.Transient, Code: connector.CodeNotApplied})
	}
	return out
}

// insistent sends a resend again if it is not answered.
type insistent struct{ outside }

func (c insistent) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	out := c.outside.Perform(ctx, call)
	if call.Resend && out.Status == connector.Uncertain && !out.Open && ctx.Err() == nil {
		return c.outside.Perform(ctx, call)
	}
	return out
}

// unmindful sends again without an end.
func unmindful(rules engine.DecideFunc) engine.DecideFunc {
	return func(s *projections.State, w eventlog.WorkflowName, env decide.Env,
		cmd decide.Command) (decide.Decision, error) {
		d, err := rules(s, w, env, cmd)
		for i, f := range d.Facts {
			if left, ok := f.(*eventlog.MutationLeftIndeterminate); ok {
				if _, resends := cmd.(decide.ResendMutation); resends && i == 0 {
					again := &eventlog.MutationResent{Mutation: left.Mutation, Attempt: 1, Engine: env.Engine,
						Deadline: env.Now.Add(time.Second), At: env.Now.Add(2 * time.Second)}
					return decide.Decision{Kind: again.FactType(), Facts: []eventlog.Fact{again}}, err
				}
			}
		}
		return d, err
	}
}

// hasty does not wait until nothing of a call can be under way any more.
type hasty struct{ outside }

func (hasty) Ending(connector.Call) connector.Ending { return connector.Ending{} }

// closed does not say that an exchange is still open after its deadline.
type closed struct{ outside }

func (c closed) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	out := c.outside.Perform(ctx, call)
	out.Open = false
	return out
}

// hurried gives a receiver that was seen to be slow no more time than any other, once its caller is gone.
type hurried struct{ outside }

func (c hurried) Ending(call connector.Call) connector.Ending {
	ending := c.outside.Ending(call)
	ending.Lasting = ending.Unseen
	return ending
}

// deaf tells only of open exchanges that end with an answer.
type deaf struct{ outside }

func (c deaf) OnLate(late func(connector.Call, connector.Outcome)) {
	c.outside.OnLate(func(call connector.Call, out connector.Outcome) {
		if out.Status != connector.Uncertain {
			late(call, out)
		}
	})
}

// unaware does not notice that a tool has changed.
type unaware struct{ outside }

func (c unaware) Operation(name, operation string) (connector.Operation, bool) {
	op, ok := c.outside.Operation(name, operation)
	op.Reconciles = operation == "send"
	return op, ok
}

// rewriting changes the facts of every decision.
func rewriting(change func(s *projections.State,
	facts []eventlog.Fact) []eventlog.Fact) func(engine.DecideFunc) engine.DecideFunc {
	return func(rules engine.DecideFunc) engine.DecideFunc {
		return func(s *projections.State, w eventlog.WorkflowName, env decide.Env,
			cmd decide.Command) (decide.Decision, error) {
			d, err := rules(s, w, env, cmd)
			d.Facts = change(s, d.Facts)
			return d, err
		}
	}
}

// phaseFirst releases what a run in mutating holds, whatever became of its call.
func phaseFirst(s *projections.State, facts []eventlog.Fact) []eventlog.Fact {
	var out []eventlog.Fact
	for _, f := range facts {
		set, ok := f.(*eventlog.RetryOwed)
		run := s.CurrentRun()
		if !ok || run == nil || run.ID != set.Run || run.Phase.PastMutation() {
			out = append(out, f)
			continue
		}
		for _, e := range s.ReservedBy(run) {
			out = append(out, &eventlog.EventReleased{Topic: e.Topic, MessageID: e.MessageID, Run: run.ID})
		}
	}
	return out
}

// forgetRetry lets a failure after the mutation be the end of it.
func forgetRetry(_ *projections.State, facts []eventlog.Fact) []eventlog.Fact {
	return slices.DeleteFunc(facts, func(f eventlog.Fact) bool { return f.FactType() == "workflow.retry_owed" })
}

// cleanAtCommit takes every commit for an empty one that has seen everything.
func cleanAtCommit(s *projections.State, facts []eventlog.Fact) []eventlog.Fact {
	at := slices.IndexFunc(facts, func(f eventlog.Fact) bool { return f.FactType() == "run.committed" })
	if at < 0 {
		return facts
	}
	run := s.Run(facts[at].(*eventlog.RunCommitted).Run)
	if run == nil || run.Type != eventlog.ConsumerHandler {
		return facts
	}
	// What follows the commit was decided on a flag that is not there any more.
	return append(slices.Clone(facts[:at+1]), &eventlog.HandlerCleaned{Handler: run.Handler})
}

// dropSettlement records what became of a call only while its run is active.
func dropSettlement(rules engine.DecideFunc) engine.DecideFunc {
	return func(s *projections.State, w eventlog.WorkflowName, env decide.Env,
		cmd decide.Command) (decide.Decision, error) {
		// (An answer that says nothing is asked for again at once if it is dropped: that would never end.)
		if c, ok := cmd.(decide.SettleMutation); ok && c.Outcome.Status != decide.Uncertain {
			if run := s.CurrentRun(); run == nil || run.Mutation != c.Mutation {
				return decide.Decision{}, decide.ErrStale
			}
		}
		return rules(s, w, env, cmd)
	}
}

// overAtOnce takes another process's call as over when it is first asked about.
func overAtOnce(rules engine.DecideFunc) engine.DecideFunc {
	return func(s *projections.State, w eventlog.WorkflowName, env decide.Env,
		cmd decide.Command) (decide.Decision, error) {
		if c, ok := cmd.(decide.SettleMutation); ok && c.UnderWay {
			if m := s.Mutation(c.Mutation); m != nil && m.Engine != env.Engine {
				c.UnderWay, c.OverAt = false, 0
				cmd = c
			}
		}
		return rules(s, w, env, cmd)
	}
}

// countBusy takes a receiver that wants to be left alone for a failure of the job.
func countBusy(_ *projections.State, facts []eventlog.Fact) []eventlog.Fact {
	for i, f := range facts {
		if f, ok := f.(*eventlog.EventRetryScheduled); ok && f.Uncounted {
			counted := *f
			counted.Uncounted = false
			facts[i] = &counted
		}
	}
	return facts
}

// countCrash takes a call that was open when its process ended, and that did not happen, for a failure of the job.
func countCrash(s *projections.State, facts []eventlog.Fact) []eventlog.Fact {
	for _, f := range facts {
		m, ok := f.(*eventlog.MutationFailed)
		if !ok || m.ResolvedBy != eventlog.ResolvedByReconcile {
			continue
		}
		if run := s.Run(m.Run); run != nil && run.Failure != nil && run.Failure.Code == eventlog.CodeProcessStopped {
			return countBusy(s, facts)
		}
	}
	return facts
}

// unfenced appends at whatever end the workflow has.
type unfenced struct{ eventlog.Log }

func (l unfenced) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	for r, err := range l.ReadWorkflow(ctx, e.Workflow, e.Expected.Seq+1) {
		if err == nil {
			e.Expected.Seq = r.Position.Seq
		}
	}
	return l.Log.Append(ctx, e)
}

// impatient takes a lost acknowledgement for a refusal.
type impatient struct{ eventlog.Log }

func (l impatient) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := l.Log.Append(ctx, e)
	if errors.Is(err, eventlog.ErrUnconfirmed) {
		return head, &eventlog.ConflictError{Workflow: e.Workflow, Expected: e.Expected}
	}
	return head, err
}

// silent does not say that others have gone on behind an entry.
type silent struct{ eventlog.Log }

func (l silent) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	written, err := l.Log.Append(ctx, e)
	written.Overtaken = false
	return written, err
}

// trusting takes a lost acknowledgement for a good one.
type trusting struct{ eventlog.Log }

func (l trusting) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	head, err := l.Log.Append(ctx, e)
	if errors.Is(err, eventlog.ErrUnconfirmed) {
		last, lastErr := l.Last(ctx, l.PartitionOf(e.Workflow))
		if lastErr != nil {
			return head, err
		}
		return eventlog.Written{Head: e.HeadAt(last + 1)}, nil
	}
	return head, err
}

// leaping takes the newest record that is written to it for all of them.
type leaping struct{ engine.Store }

func (s leaping) Commit(b store.Batch) error {
	for _, c := range b.Changes {
		if head := c.State.Head; head.Seq > b.Checkpoint.Seq {
			b.Checkpoint.Seq, b.Checkpoint.Hash = head.Seq, head.Hash
		}
	}
	return s.Store.Commit(b)
}

// forgetful shows nothing of what is given up.
type forgetful struct{ eventlog.LossKeeper }

func (forgetful) ReadAll(context.Context, int, uint64) iter.Seq2[eventlog.Record, error] {
	return func(func(eventlog.Record, error) bool) {}
}

// seamless does not say that messages are missing.
type seamless struct{ eventlog.LossKeeper }

func (seamless) Unrecorded(int) []eventlog.Missing { return nil }

// hoarding keeps the places of events that have ended.
type hoarding struct {
	engine.Store
	mu    sync.Mutex
	ended map[eventlog.WorkflowName]map[eventlog.Topic][]projections.Queued
}

func newHoarding(s engine.Store) *hoarding {
	return &hoarding{Store: s, ended: map[eventlog.WorkflowName]map[eventlog.Topic][]projections.Queued{}}
}

func (s *hoarding) Commit(b store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range b.Changes {
		of := s.ended[c.State.Name]
		if of == nil {
			of = map[eventlog.Topic][]projections.Queued{}
			s.ended[c.State.Name] = of
		}
		for _, e := range c.State.Events() {
			if e.Status == eventlog.EventStatusConsumed {
				of[e.Topic] = append(of[e.Topic], projections.Queued{Created: e.Created})
			}
		}
	}
	return s.Store.Commit(b)
}

func (s *hoarding) Get(w eventlog.WorkflowName, keys []projections.Key) ([]any, error) {
	rows, err := s.Store.Get(w, keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, places := range s.ended[w] {
		if slices.Contains(keys, projections.PendingKey(topic)) {
			rows = append(rows, &projections.Backlog{Topic: topic, Queued: places})
		}
	}
	return rows, err
}

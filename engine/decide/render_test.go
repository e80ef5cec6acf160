package decide_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// brief shows a fact on one line: its type, what it is about, and what matters of the rest.
func brief(f eventlog.Fact, now eventlog.Instant) string {
	parts := []string{string(f.FactType())}
	add := func(args ...any) {
		for _, a := range args {
			if s := fmt.Sprint(a); s != "" {
				parts = append(parts, s)
			}
		}
	}
	in := func(at eventlog.Instant) string {
		if at == 0 {
			return "none"
		}
		return "+" + at.Sub(now).String()
	}
	switch f := f.(type) {
	case *eventlog.RunStarted:
		add(f.Run, f.Handler, "v"+string(f.Version), f.Phase)
		if f.RetryOf != "" {
			add("retryOf", f.RetryOf)
		}
		if f.Event != nil {
			add("for", string(f.Event.Topic)+"/"+string(f.Event.MessageID))
		}
		if f.Key != "" {
			add("key", f.Key)
		}
	case *eventlog.RunAdvanced:
		add(f.Run, f.Phase)
	case *eventlog.RunFailed:
		add(f.Run, f.Status, f.Failure.Code)
	case *eventlog.MutationStarted:
		add(f.Mutation, f.Run, "deadline", in(f.Deadline))
	case *eventlog.MutationApplied:
		add(f.Mutation, f.ResolvedBy)
	case *eventlog.MutationFailed:
		add(f.Mutation, f.Failure.Class, f.ResolvedBy)
	case *eventlog.MutationSkipped:
		add(f.Mutation, f.ResolvedBy)
	case *eventlog.MutationApproved:
		add(f.Mutation, f.ParamsHash)
	case *eventlog.MutationReconcileScheduled:
		add(f.Mutation, fmt.Sprintf("attempt %d", f.Attempt), in(f.At))
		if f.OverAt > now && f.OverAt != f.At {
			add("over", in(f.OverAt))
		}
		if f.Reconciles {
			add("can be asked since")
		}
	case *eventlog.MutationResent:
		add(f.Mutation, fmt.Sprintf("attempt %d", f.Attempt), "deadline", in(f.Deadline), "looked at", in(f.At), f.Engine)
	case *eventlog.MutationCommented:
		add(f.Mutation, fmt.Sprintf("%q", f.Comment))
	case *eventlog.MutationContradicted:
		add(f.Mutation, f.Outcome)
	case *eventlog.EventRetryScheduled:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Run, in(f.At))
		if f.Uncounted {
			add("uncounted")
		}
		if f.Attention {
			add("attention")
		}
	case *eventlog.EventReleased:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Run)
		if f.Uncounted {
			add("uncounted")
		}
	case *eventlog.EventHeld:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Run, "for", f.Reason)
	case *eventlog.EventFreed:
		add(string(f.Topic) + "/" + string(f.MessageID))
		if f.Uncounted {
			add("uncounted")
		}
	case *eventlog.EventDeferred:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Run, in(f.Until))
	case *eventlog.RunPrepared:
		add(f.Run)
		if f.Empty {
			add("empty")
		}
	case *eventlog.RunRetryOwed:
		add(f.Run)
		if f.At != 0 {
			add(in(f.At))
		}
		if f.Attempt != 0 {
			add(fmt.Sprintf("attempt %d", f.Attempt))
		}
		if f.Attention {
			add("attention")
		}
	case *eventlog.HandlerUncertainCounted:
		add(f.Handler, fmt.Sprint(f.Mutations))
	case *eventlog.HandlerRepairCounted:
		add(f.Handler, f.Failures)
	case *eventlog.HandlerStreakCounted:
		add(f.Handler, f.Class, fmt.Sprint(len(f.Events)))
	case *eventlog.HandlerProbeScheduled:
		add(f.Handler, f.Class, fmt.Sprintf("attempt %d", f.Attempt), in(f.At))
		if f.Attention {
			add("attention")
		}
	case *eventlog.HandlerFailuresCounted:
		add(f.Handler, f.Runs)
	case *eventlog.EventSkipped:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Run, quoted(f.Reason))
	case *eventlog.HandlerScheduled:
		add(f.Handler, in(f.NextRunAt))
	case *eventlog.HandlerWakeRequested:
		add(f.Handler, in(f.WakeAt))
	case *eventlog.HandlerStateSaved:
		add(f.Handler, string(f.State))
	case *eventlog.SessionStarted:
		add(f.Session)
		if f.ProducersFirst {
			add("producers first")
		}
	case *eventlog.SessionEnded:
		add(f.Session, f.Result)
	case *eventlog.BackoffStarted:
		add(fmt.Sprintf("attempt %d", f.Attempt), in(f.Until))
		if f.Attention {
			add("attention")
		}
	case *eventlog.RepairCounted:
		add(f.Failures)
	case *eventlog.WorkflowDeployed:
		add(f.Version)
	case *eventlog.WorkflowBlocked:
		add(f.Reason)
	case *eventlog.EventGivenUp:
		add(string(f.Topic)+"/"+string(f.MessageID), f.Status)
		if f.Unknown {
			add("unknown")
		}
	case *eventlog.MutationGivenUp:
		add(f.Mutation, f.Run, "was", f.Status)
	case *eventlog.InputRegistered:
		add(f.Source, f.ExternalID)
	case *eventlog.InputRetitled:
		add(f.Title)
	default:
		v := reflect.ValueOf(f).Elem()
		if topic := v.FieldByName("Topic"); topic.IsValid() {
			add(topic.String() + "/" + v.FieldByName("MessageID").String())
		}
		for _, name := range []string{"Mutation", "Run", "Handler"} {
			if field := v.FieldByName(name); field.IsValid() {
				add(field.String())
			}
		}
	}
	return strings.Join(parts, " ")
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%q", s)
}

// look shows one thing of the state.
func (b *bench) look(line string) string {
	w := split(line)
	s := b.state
	show := func(format string, args ...any) string { return line + ": " + fmt.Sprintf(format, args...) }
	switch w.verb {
	case "run":
		r := b.run(eventlog.RunID(w.first()))
		if r == nil {
			return show("none")
		}
		out := fmt.Sprintf("%s %s", r.Status, r.Phase)
		if r.Outcome != "" {
			out += " outcome=" + string(r.Outcome)
		}
		if r.RetryOf != "" {
			out += " retryOf=" + string(r.RetryOf)
		}
		if r.Failure != nil {
			out += " error=" + string(r.Failure.Class)
		}
		if r.EndedAt != 0 {
			out += " ended"
		}
		if r.ScheduledAt != 0 {
			out += " scheduled=" + r.ScheduledAt.Sub(b.now).String()
		}
		return show("%s v%s result=%s", out, r.Version, r.PrepareResult)
	case "event":
		ref := refs(w.bare)[0]
		e := b.event(ref.Topic, ref.MessageID)
		if e == nil {
			return show("none")
		}
		out := fmt.Sprintf("%s job=%s executions=%d failures=%d attempts=%d", e.Status, e.Job(), e.Executions, e.Failures,
			len(e.Attempts))
		if e.Status == eventlog.EventStatusReserved {
			out += " by=" + string(e.ReservedBy)
		}
		if e.Held != nil {
			out += " held=" + string(e.Held.Reason)
		}
		if len(e.CausedBy) > 0 {
			out += " causes=" + strings.Join(b.inputs(e.CausedBy), ",")
		}
		return show("%s title=%s", out, e.Title)
	case "payload":
		ref := refs(w.bare)[0]
		return show("%s", b.event(ref.Topic, ref.MessageID).Payload)
	case "errors":
		ref := refs(w.bare)[0]
		var out []string
		for _, a := range b.event(ref.Topic, ref.MessageID).Attempts {
			code := "-"
			if a.Failure != nil {
				code = a.Failure.Code
			}
			out = append(out, fmt.Sprintf("%d:%s:%s", a.N, a.Run, code))
		}
		return show("%s", strings.Join(out, " "))
	case "grants":
		return show("%s", granted(s))
	case "reported":
		return show("%s", strings.Join(b.reported, "; "))
	case "held":
		return show("%s", s.Blocked.Message)
	case "failure": // of a mutation, and of the run that made it
		m := b.mutation(eventlog.MutationID(w.first()))
		out := "mutation none"
		if m.Failure != nil {
			out = fmt.Sprintf("mutation %s %s: %s", m.Failure.Class, m.Failure.Code, shortened(m.Failure.Message))
		}
		if r := b.run(m.Run); r.Failure != nil {
			out += fmt.Sprintf(" | run %s %s: %s", r.Failure.Class, r.Failure.Code, shortened(r.Failure.Message))
		}
		return show("%s", out)
	case "mutation":
		m := b.mutation(eventlog.MutationID(w.first()))
		if m == nil {
			return show("none")
		}
		return show("%s by=%q attempts=%d contradiction=%q", m.Status, m.ResolvedBy, m.ReconcileAttempts, m.Contradiction)
	case "workflow":
		out := fmt.Sprintf("%s v%s paused=%v maintenance=%v failures=%d retry=%q", s.Status(), s.Version, s.Pause != nil,
			s.Maintenance != nil, s.RepairFailures, s.PendingRetry)
		if s.Blocked != nil {
			out += " blocked=" + string(s.Blocked.Reason)
		}
		if s.Backoff != nil {
			out += fmt.Sprintf(" backoff=%d", s.Backoff.Attempt)
		}
		if a := s.Attention(); a != nil {
			out += fmt.Sprintf(" attention=%s:%d since=-%s", a.Reason, a.Failures, b.now.Sub(a.Since))
		}
		return show("%s", out)
	case "handler":
		h := s.Handler(eventlog.Handler(w.first()))
		return show("dirty=%v state=%s", h.DirtyAt > 0, h.State)
	case "input":
		for _, row := range b.store {
			if in, ok := row.(*projections.Input); ok && in.ExternalID == w.first() {
				out := fmt.Sprintf("%s open=%d consumed=%d skipped=%d outputs=%v source=%s", in.Status(), in.Open, in.Consumed,
					in.Skipped, in.Outputs, in.Source)
				if in.Discarded != 0 {
					out += fmt.Sprintf(" discarded=%d", in.Discarded)
				}
				if in.Title != "T" {
					out += " title=" + in.Title
				}
				return show("%s", out)
			}
		}
		return show("none")
	case "counts":
		return show("available=%d running=%d retryable=%d discarded=%d", s.Available(), s.Counts.Running, s.Counts.Retryable,
			s.Counts.Discarded)
	case "kind":
		return show("%s", b.last.Kind)
	case "next":
		return show("%s", briefTodo(b.next(), b.now))
	case "owed":
		var out []string
		for _, todo := range b.owed() {
			out = append(out, strings.TrimSpace(briefTodo(todo, b.now)))
		}
		return show("%s", strings.Join(out, "; "))
	case "needs-attention": // which of the waits do (F8)
		var out []string
		for _, todo := range b.owed() {
			if wait, ok := todo.(decide.Wait); ok && decide.NeedsAttention(s, wait) {
				out = append(out, strings.TrimSpace(briefTodo(wait, b.now)))
			}
		}
		return show("%s", strings.Join(out, "; "))
	}
	return show("no such thing")
}

// briefTodo shows what a state owes, or waits for.
func briefTodo(todo decide.Todo, now eventlog.Instant) string {
	wait, ok := todo.(decide.Wait)
	if !ok {
		return fmt.Sprintf("%s %+v", strings.TrimPrefix(fmt.Sprintf("%T", todo), "decide."), todo)
	}
	out := "wait " + string(wait.Reason)
	if wait.Until != 0 {
		out += " +" + wait.Until.Sub(now).String()
	}
	return out + " " + wait.Subject
}

func (b *bench) inputs(ids []eventlog.InputID) []string {
	var out []string
	for _, id := range ids {
		if in, ok := b.row(projections.InputKey(id)).(*projections.Input); ok {
			out = append(out, in.Source+":"+in.ExternalID)
		} else {
			out = append(out, "?")
		}
	}
	return out
}

// repeated finds what one letter fills.
var repeated = regexp.MustCompile(`x{9,}|y{9,}`)

// shortened shows a message, its long parts as `x*3` and its length if there are such.
func shortened(message string) string {
	out := repeated.ReplaceAllStringFunc(message, func(s string) string { return fmt.Sprintf("%c*%d", s[0], len(s)) })
	if out != message {
		out += fmt.Sprintf(" (%d bytes)", len(message))
	}
	return out
}

package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// maxChanged bounds the events of one bulk request. To change more, the request is repeated.
const maxChanged = 10_000

type (
	eventActionRequest struct {
		eventRequest
		Reason           string `json:"reason,omitempty" jsonschema:"why, for the record"`
		IncludingUnknown bool   `json:"includingUnknown,omitempty" jsonschema:"redrive also an event that has had a call that was applied, or whose outcome is not known: that may repeat its effect"`
	}
	eventItem struct {
		Topic     eventlog.Topic     `json:"topic"`
		MessageID eventlog.MessageID `json:"messageId"`
	}
	bulkRequest struct {
		inWorkflow
		Items            []eventItem          `json:"items,omitempty" jsonschema:"the events; else those that the filter fields choose"`
		Topic            eventlog.Topic       `json:"topic,omitempty" jsonschema:"filter: the topic"`
		State            projections.JobState `json:"state,omitempty" jsonschema:"filter: the state of the event's job; also with items: what is in another state now is left as it is. Without state, status and held only events that the action applies to, and of discarded ones none is skipped"`
		Status           eventlog.EventStatus `json:"status,omitempty" jsonschema:"filter: the event's status"`
		Held             eventlog.HeldReason  `json:"held,omitempty" jsonschema:"filter: what the event is held for; also with items: what is not held for it any more is left as it is"`
		Class            eventlog.Class       `json:"class,omitempty" jsonschema:"filter: the class of the error for which it is held, or with which it failed last"`
		Code             string               `json:"code,omitempty" jsonschema:"filter: the code of that error"`
		Q                string               `json:"q,omitempty" jsonschema:"filter: text to find in titles, error messages and ids (ten characters or more of an id that pawl made)"`
		Since            eventlog.Instant     `json:"since,omitempty" jsonschema:"filter: published then or later"`
		Until            eventlog.Instant     `json:"until,omitempty" jsonschema:"filter: published before then"`
		Limit            int                  `json:"limit,omitempty" jsonschema:"the most events the filter chooses, oldest first, 1 to 10000; 10000 when left out"`
		Reason           string               `json:"reason,omitempty" jsonschema:"why, for the record"`
		DryRun           bool                 `json:"dryRun,omitempty" jsonschema:"change nothing, only count"`
		IncludingUnknown bool                 `json:"includingUnknown,omitempty" jsonschema:"redrive also events that have had a call that was applied, or whose outcome is not known: that may repeat its effect; without it one such event refuses them all (409)"`
	}
	bulkAnswer struct {
		Matched  int           `json:"matched" jsonschema:"how many events were chosen"`
		More     bool          `json:"more" jsonschema:"whether the filter fits more than limit; repeat the request for those"`
		Updated  int           `json:"updated" jsonschema:"how many were changed"`
		AtRunEnd int           `json:"atRunEnd,omitempty" jsonschema:"of a skip: how many of the updated ones end only once next has run for them, since their change is made"`
		Noop     []decide.Noop `json:"noop" jsonschema:"those that were left as they were, and why"`
	}
)

var jobTable = []Operation{
	onEvent("skipEvent", decide.ActionSkip,
		"End an event unprocessed, also one that is discarded or in a run, unless a mutation made for it is not settled"),
	onEvent("cancelEvent", decide.ActionCancel, "Cancel the job of an event that is not being processed"),
	onEvent("redriveEvent", decide.ActionRedrive,
		"Make a cancelled or discarded job available again, or free an event that is held for a person or a repair"),
	onEvents("skipEvents", decide.ActionSkip, "Skip many events, by name or by filter"),
	onEvents("cancelEvents", decide.ActionCancel, "Cancel the jobs of many events, by name or by filter"),
	onEvents("redriveEvents", decide.ActionRedrive, "Redrive the jobs of many events, by name or by filter"),
}

// onEvent acts on one event and answers with its job as it is then. For a change that was made before, the answer is
// the same.
func onEvent(id string, action decide.EventAction, summary string) Operation {
	route := "POST /v1/workflows/{workflow}/events/{topic}/{messageId}/" + string(action)
	return define(operation(id, route, rpc.Operator, summary),
		func(ctx context.Context, c *Call, r *eventActionRequest) (readmodel.Job, error) {
			var cmd decide.Command
			switch action {
			case decide.ActionSkip:
				cmd = decide.SkipEvent{Topic: r.Topic, MessageID: r.MessageID, Reason: r.Reason}
			case decide.ActionCancel:
				cmd = decide.CancelJob{Topic: r.Topic, MessageID: r.MessageID, Reason: r.Reason}
			default:
				cmd = decide.RedriveJob{Topic: r.Topic, MessageID: r.MessageID, IncludingUnknown: r.IncludingUnknown}
			}
			refused := c.backend.cfg.Engine.Operate(ctx, c.Actor, r.Workflow, cmd, id)
			var refusal *decide.Refusal
			if refused != nil && (!errors.As(refused, &refusal) || refusal.Code != decide.CodeJobState) {
				return readmodel.Job{}, refused
			}
			job, err := c.backend.cfg.Reader.Job(ctx, r.Workflow, r.Topic, r.MessageID)
			if err == nil && refused != nil && !action.Done(job.State) &&
				!(action == decide.ActionSkip && c.backend.toBeSkipped(&r.eventRequest)) {
				return readmodel.Job{}, refused
			}
			return job, err
		})
}

// toBeSkipped says whether it is decided already that the event's run skips it at its end (O7).
func (b *backend) toBeSkipped(r *eventRequest) bool {
	state, err := b.state(r.Workflow)
	if err != nil {
		return false
	}
	e := state.Event(r.Topic, r.MessageID)
	return e != nil && e.SkipRequested
}

func onEvents(id string, action decide.EventAction, summary string) Operation {
	o := operation(id, "POST /v1/workflows/{workflow}/events/"+string(action), rpc.Operator, summary).slow()
	return define(o, func(ctx context.Context, c *Call, r *bulkRequest) (bulkAnswer, error) {
		answer := bulkAnswer{Noop: []decide.Noop{}}
		refs, more, err := c.backend.chosen(ctx, r, action)
		if err != nil {
			return answer, err
		}
		answer.Matched, answer.More = len(refs), more
		change := decide.ChangeEvents{Action: action, Items: refs, Reason: r.Reason, IncludingUnknown: r.IncludingUnknown,
			Held: r.Held, State: r.State}
		if action == decide.ActionRedrive && !r.IncludingUnknown {
			if err := c.backend.cfg.Engine.CheckUnknown(ctx, c.Actor, r.Workflow, change); err != nil {
				return answer, err
			}
		}
		if r.DryRun {
			return answer, nil
		}
		done, err := c.backend.cfg.Engine.ChangeEvents(ctx, c.Actor, r.Workflow, change)
		if err != nil && done.Updated > 0 {
			// The changes so far are recorded; a repeated request makes the rest.
			p := *problem.Of(err)
			p.Detail = fmt.Sprintf("%d of %d events were changed, then: %s", done.Updated, len(refs), p.Detail)
			return answer, &p
		}
		for i := range done.Noop {
			done.Noop[i].Reason = explain.Hinted(done.Noop[i].Reason, explain.Hint(done.Noop[i].Hint))
		}
		answer.Updated, answer.AtRunEnd, answer.Noop = done.Updated, done.AtRunEnd, done.Noop
		return answer, err
	})
}

// chosen names the events of a bulk request: those listed, each once, or those that the filter fits. more says that the
// filter fits others too.
func (b *backend) chosen(ctx context.Context, r *bulkRequest, action decide.EventAction) (refs []eventlog.EventRef,
	more bool, err error) {
	if _, err := b.state(r.Workflow); err != nil {
		return nil, false, err
	}
	if err := r.check(); err != nil {
		return nil, false, err
	}
	if r.Items != nil {
		refs, err := r.named()
		return refs, false, err
	}
	return b.fitting(ctx, r, action)
}

// check refuses a request that names no events, or names them in two ways.
func (r *bulkRequest) check() error {
	filtered := r.Topic != "" || r.Status != "" || r.Class != "" || r.Code != "" || r.Q != "" || r.Since != 0 ||
		r.Until != 0
	invalid := func(format string, args ...any) error {
		return rpc.Problemf(http.StatusUnprocessableEntity, "bulk.invalid", format, args...).
			WithHint(`send {"items": [{"topic": …, "messageId": …}]}, or a filter of topic, state, status, held, class, ` +
				`code, q, since and until`)
	}
	switch {
	case r.Items != nil && filtered:
		return invalid("items and a filter other than state and held exclude each other")
	case r.Items == nil && !filtered && r.Held == "" && r.State == "":
		return invalid("nothing says which events are meant")
	case len(r.Items) > maxChanged:
		return invalid("%d items are too many for one request, at most %d are allowed", len(r.Items), maxChanged)
	case r.Limit < 0 || r.Limit > maxChanged:
		return invalid("limit is %d; it must be 1 to %d", r.Limit, maxChanged)
	}
	// With a misspelt value the filter would fit nothing, and the answer would look as if everything were done.
	for _, filter := range []struct {
		name  string
		value any
	}{{"topic", r.Topic}, {"state", r.State}, {"status", r.Status}, {"held", r.Held}, {"class", r.Class}} {
		value := reflect.ValueOf(filter.value)
		if err := knownTypes.Check(filter.name, value); err != nil && !value.IsZero() {
			return invalid("%v", err)
		}
	}
	return nil
}

// named are the events that the request lists, each once.
func (r *bulkRequest) named() ([]eventlog.EventRef, error) {
	var refs []eventlog.EventRef
	seen := map[eventlog.EventRef]bool{}
	for i, item := range r.Items {
		if err := errors.Join(item.Topic.Validate(), item.MessageID.Validate()); err != nil {
			return nil, rpc.Malformed("item.invalid", "item %d names no event: %s; nothing was changed", i,
				strings.ReplaceAll(err.Error(), "\n", ", ")).
				WithHint(`an item is {"topic": …, "messageId": …}`)
		}
		ref := eventlog.EventRef{Topic: item.Topic, MessageID: item.MessageID}
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// fitting lists the events that the filter of the request fits now.
func (b *backend) fitting(ctx context.Context, r *bulkRequest, action decide.EventAction) (refs []eventlog.EventRef,
	more bool, err error) {
	limit := r.Limit
	if limit == 0 {
		limit = maxChanged
	}
	o := readmodel.ListOptions{Workflow: r.Workflow, Limit: readmodel.MaxLimit, Topic: string(r.Topic),
		State: string(r.State), Status: string(r.Status), Held: string(r.Held), Q: r.Q}
	for {
		page, err := b.cfg.Reader.Jobs(ctx, o)
		if err != nil {
			return nil, false, err
		}
		for _, job := range page.Items {
			if !action.Meant(r.State != "" || r.Status != "" || r.Held != "", job.State, job.Held.For()) {
				continue
			}
			if job.PublishedAt < r.Since || r.Until != 0 && job.PublishedAt >= r.Until ||
				!job.Failed(r.Class, r.Code) {
				continue
			}
			if len(refs) == limit {
				return refs, true, nil
			}
			refs = append(refs, eventlog.EventRef{Topic: job.Topic, MessageID: job.MessageID})
		}
		if page.Next == nil {
			return refs, false, nil
		}
		o.Cursor = *page.Next
	}
}

package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/problem"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	resumeRequest struct {
		inWorkflow
		keepingBudget
	}
	approveRequest struct {
		mutationRequest
		ParamsHash string `json:"paramsHash,omitempty" jsonschema:"refuses the approval (409) if other parameters are recorded: what the person looked at"`
		commented
	}
	rejectRequest struct {
		mutationRequest
		commented
	}
	commented struct {
		Comment string `json:"comment,omitempty" jsonschema:"why, for the record: it is kept with the mutation and in the log"`
	}
	resolveRequest struct {
		mutationRequest
		Resolution decide.Resolution `json:"resolution" jsonschema:"did_happen, did_not_happen, skip or try_again"`
		Result     json.RawMessage   `json:"result,omitempty" jsonschema:"with did_happen: what next is given as the call's result, any JSON; null when left out"`
		commented
	}

	// mutationsRequest names many mutations: those listed, or those that a filter fits (C11).
	mutationsRequest struct {
		Items    []mutationItem        `json:"items,omitempty" jsonschema:"the mutations; else those that the filter fields choose"`
		Workflow eventlog.WorkflowName `json:"workflow,omitempty" jsonschema:"filter: the workflow"`
		Held     mutationHeld          `json:"held,omitempty" jsonschema:"filter: what it keeps waiting; when left out, that to which the action applies"`
		Class    eventlog.Class        `json:"class,omitempty" jsonschema:"filter: the class of its error"`
		Code     string                `json:"code,omitempty" jsonschema:"filter: the code of its error, such as call.timeout"`
		Q        string                `json:"q,omitempty" jsonschema:"filter: text to find in titles, error messages and ids (ten characters or more of an id that pawl made), or a whole idempotency key"`
		Since    eventlog.Instant      `json:"since,omitempty" jsonschema:"filter: its call left then or later, or was asked for if it has not left"`
		Until    eventlog.Instant      `json:"until,omitempty" jsonschema:"filter: its call left, or was asked for, before then"`
		Limit    int                   `json:"limit,omitempty" jsonschema:"the most mutations the filter chooses, oldest first, 1 to 10000; 10000 when left out"`
		DryRun   bool                  `json:"dryRun,omitempty" jsonschema:"change nothing, only say which: items of the answer, sent back, are acted on and no others"`
		commented
	}
	resolveManyRequest struct {
		mutationsRequest
		Resolution decide.Resolution `json:"resolution" jsonschema:"did_happen, did_not_happen, skip or try_again"`
		Result     json.RawMessage   `json:"result,omitempty" jsonschema:"with did_happen: what next of each is given as the call's result, any JSON; null when left out"`
	}
	mutationItem struct {
		ID         eventlog.MutationID   `json:"id"`
		Workflow   eventlog.WorkflowName `json:"workflow,omitempty" jsonschema:"the mutation's workflow, if it is known"`
		ParamsHash string                `json:"paramsHash,omitempty" jsonschema:"what the person looked at; an approval needs it"`
	}
	chosenMutation struct {
		mutationItem
		Connector string  `json:"connector"`
		Operation string  `json:"operation"`
		UITitle   *string `json:"uiTitle"`
	}
	mutationsAnswer struct {
		Matched int              `json:"matched" jsonschema:"how many mutations were chosen"`
		More    bool             `json:"more" jsonschema:"whether the filter fits more than limit; repeat the request for those"`
		Updated int              `json:"updated" jsonschema:"how many were changed"`
		Items   []chosenMutation `json:"items" jsonschema:"those that the filter has chosen; without a filter none"`
		Noop    []leftMutation   `json:"noop" jsonschema:"those that were left as they were, and why"`
	}
	leftMutation struct {
		ID     eventlog.MutationID `json:"id"`
		Code   string              `json:"code"`
		Reason string              `json:"reason"`
	}
)

var operatorTable = []Operation{
	onWorkflow("pauseWorkflow", "pause",
		"Hold a workflow at the next run boundary: a run that has begun goes on to its end and may still make its call",
		decide.Pause{}),
	define(operation("resumeWorkflow", "POST /v1/workflows/{workflow}/resume", rpc.Operator,
		"End a pause and clear the system's hold"),
		func(ctx context.Context, c *Call, r *resumeRequest) (readmodel.Workflow, error) {
			return operate(ctx, c, r.Workflow, decide.Resume{KeepRepairBudget: r.KeepRepairBudget}, "resumeWorkflow")
		}),
	onWorkflow("archiveWorkflow", "archive", "Stop a workflow for good; its history stays", decide.Archive{}),
	define(operation("runWorkflow", "POST /v1/workflows/{workflow}/run-now", rpc.Operator,
		"Queue every producer of a workflow now, and say what each waits for"), runNow),
	define(operation("approveMutation", "POST /v1/mutations/{mutation}/approve", rpc.Operator,
		"Send the call that awaits approval, exactly as it is recorded").narrowing(),
		func(ctx context.Context, c *Call, r *approveRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Approve{Mutation: r.Mutation, ParamsHash: r.ParamsHash,
				Comment: r.Comment}, "approveMutation")
		}),
	define(operation("rejectMutation", "POST /v1/mutations/{mutation}/reject", rpc.Operator,
		"Go on without the call that awaits approval").narrowing(),
		func(ctx context.Context, c *Call, r *rejectRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Reject{Mutation: r.Mutation, Comment: r.Comment}, "rejectMutation")
		}),
	define(operation("resolveMutation", "POST /v1/mutations/{mutation}/resolve", rpc.Operator,
		"Say what became of an indeterminate mutation").narrowing(),
		func(ctx context.Context, c *Call, r *resolveRequest) (readmodel.Mutation, error) {
			return onMutation(ctx, c, r.Mutation, decide.Resolve{Mutation: r.Mutation, Resolution: r.Resolution,
				Result: r.Result, Comment: r.Comment}, "resolveMutation")
		}),
	define(operation("approveMutations", "POST /v1/mutations/approve", rpc.Operator,
		"Send many calls that await approval, by name or by filter").narrowing().slow(),
		func(ctx context.Context, c *Call, r *mutationsRequest) (mutationsAnswer, error) {
			return c.onMutations(ctx, r, heldApproval, "approveMutations", func(m mutationItem) decide.Command {
				return decide.Approve{Mutation: m.ID, ParamsHash: m.ParamsHash, Comment: r.Comment}
			})
		}),
	define(operation("rejectMutations", "POST /v1/mutations/reject", rpc.Operator,
		"Go on without many calls that await approval, by name or by filter").narrowing().slow(),
		func(ctx context.Context, c *Call, r *mutationsRequest) (mutationsAnswer, error) {
			return c.onMutations(ctx, r, heldApproval, "rejectMutations", func(m mutationItem) decide.Command {
				return decide.Reject{Mutation: m.ID, Comment: r.Comment}
			})
		}),
	define(operation("resolveMutations", "POST /v1/mutations/resolve", rpc.Operator,
		"Say of many indeterminate mutations what became of them, by name or by filter").narrowing().slow(),
		func(ctx context.Context, c *Call, r *resolveManyRequest) (mutationsAnswer, error) {
			return c.onMutations(ctx, &r.mutationsRequest, heldIndeterminate, "resolveMutations",
				func(m mutationItem) decide.Command {
					return decide.Resolve{Mutation: m.ID, Resolution: r.Resolution, Result: r.Result, Comment: r.Comment}
				})
		}),
}

func onWorkflow(id, verb, summary string, cmd decide.Command) Operation {
	return define(operation(id, "POST /v1/workflows/{workflow}/"+verb, rpc.Operator, summary),
		func(ctx context.Context, c *Call, r *inWorkflow) (readmodel.Workflow, error) {
			return operate(ctx, c, r.Workflow, cmd, id)
		})
}

// operate acts on the workflow and answers with it as it is then.
func operate(ctx context.Context, c *Call, w eventlog.WorkflowName, cmd decide.Command, operation string) (
	readmodel.Workflow, error) {
	if err := c.backend.cfg.Engine.Operate(ctx, c.Actor, w, cmd, operation); err != nil {
		return readmodel.Workflow{}, err
	}
	s, err := c.backend.state(w)
	return readmodel.WorkflowOf(&s), err
}

// onMutation finds the mutation's workflow, acts on it and answers with the mutation as it is then.
func onMutation(ctx context.Context, c *Call, id eventlog.MutationID, cmd decide.Command,
	operation string) (readmodel.Mutation, error) {
	m, err := c.mutation(ctx, id)
	if err != nil {
		return readmodel.Mutation{}, err
	}
	if err := c.backend.cfg.Engine.Operate(ctx, c.Actor, m.Workflow, cmd, operation); err != nil {
		return readmodel.Mutation{}, err
	}
	return c.backend.cfg.Reader.Mutation(ctx, id)
}

// onMutations acts on many mutations: on each that was listed, or that fitted the filter at the time of the look, and
// on none that came later (C11). Each is a transition of its own; an action that is refused is no error.
func (c *Call) onMutations(ctx context.Context, r *mutationsRequest, applies mutationHeld, operation string,
	command func(mutationItem) decide.Command) (mutationsAnswer, error) {
	answer := mutationsAnswer{Items: []chosenMutation{}, Noop: []leftMutation{}}
	_, approves := command(mutationItem{}).(decide.Approve)
	items, err := c.chosenMutations(ctx, r, applies, approves, &answer)
	if err != nil {
		return answer, err
	}
	answer.Matched = len(items)
	if r.DryRun {
		return answer, nil
	}
	for _, m := range items {
		err := c.onOne(ctx, m, operation, command)
		var refusal *decide.Refusal
		var p *rpc.Problem
		var unknown *readmodel.NotFoundError
		switch {
		case err == nil:
			answer.Updated++
		case errors.As(err, &refusal) && refusal.Kind != decide.Invalid, errors.As(err, &p), errors.As(err, &unknown):
			p = problem.Of(err)
			answer.Noop = append(answer.Noop, leftMutation{m.ID, p.Code, explain.Hinted(p.Detail, p.Hint)})
		case answer.Updated > 0:
			// The changes so far are recorded; a repeated request makes the rest.
			failed := *problem.Of(err)
			failed.Detail = fmt.Sprintf("%d of %d mutations were changed, then: %s", answer.Updated, len(items), failed.Detail)
			return answer, &failed
		default:
			return answer, err
		}
	}
	return answer, nil
}

func (c *Call) onOne(ctx context.Context, m mutationItem, operation string,
	command func(mutationItem) decide.Command) error {
	if m.Workflow == "" {
		found, err := c.mutation(ctx, m.ID)
		if err != nil {
			return err
		}
		m.Workflow = found.Workflow
	} else if p := c.Sees(m.Workflow); p != nil {
		return p
	}
	return c.backend.cfg.Engine.Operate(ctx, c.Actor, m.Workflow, command(m), operation)
}

// chosenMutations names the mutations of a bulk request: those listed, each once, or those the filter fits.
// An approval must name the hash of the parameters that it approves.
func (c *Call) chosenMutations(ctx context.Context, r *mutationsRequest, applies mutationHeld, hashed bool,
	answer *mutationsAnswer) ([]mutationItem, error) {
	filtered := r.Workflow != "" || r.Held != "" || r.Class != "" || r.Code != "" || r.Q != "" || r.Since != 0 ||
		r.Until != 0
	invalid := func(format string, args ...any) error {
		return rpc.Problemf(http.StatusUnprocessableEntity, "bulk.invalid", format, args...).
			WithHint(`send {"items": [{"id": …, "paramsHash": …}]}, or a filter of workflow, held, class, code, ` +
				`q, since and until`)
	}
	switch {
	case r.Items != nil && filtered:
		return nil, invalid("items and a filter exclude each other")
	case r.Items == nil && !filtered:
		return nil, invalid("nothing says which mutations are meant")
	case len(r.Items) > maxChanged:
		return nil, invalid("%d items are too many for one request, at most %d are allowed", len(r.Items), maxChanged)
	case r.Limit < 0 || r.Limit > maxChanged:
		return nil, invalid("limit is %d; it must be 1 to %d", r.Limit, maxChanged)
	}
	if r.Items != nil {
		return listedMutations(r.Items, hashed, invalid)
	}
	// With a misspelt value the filter would fit nothing, and the answer would look as if everything were done.
	for name, value := range map[string]reflect.Value{
		"held": reflect.ValueOf(r.Held), "class": reflect.ValueOf(r.Class),
	} {
		if err := knownTypes.Check(name, value); err != nil && !value.IsZero() {
			return nil, invalid("%v", err)
		}
	}
	o := readmodel.ListOptions{Workflow: r.Workflow, Limit: readmodel.MaxLimit, Held: string(r.Held), Q: r.Q}
	if o.Workflow == "" {
		o.Workflow = c.Workflow
	} else if p := c.Sees(o.Workflow); p != nil {
		return nil, p
	}
	if o.Held == "" {
		o.Held = string(applies)
	}
	return c.fittingMutations(ctx, r, o, answer)
}

func listedMutations(given []mutationItem, hashed bool, invalid func(string, ...any) error) ([]mutationItem, error) {
	seen, items := map[eventlog.MutationID]bool{}, []mutationItem{}
	for i, m := range given {
		switch {
		case m.ID == "":
			return nil, invalid("item %d names no mutation; nothing was changed", i)
		case hashed && m.ParamsHash == "":
			return nil, invalid("item %d (%s) has no paramsHash: an approval is of exactly what was looked at; nothing was "+
				"changed", i, m.ID)
		case !seen[m.ID]:
			seen[m.ID] = true
			items = append(items, m)
		}
	}
	return items, nil
}

// fittingMutations lists what the filter fits now. The filter's times are those of the start of a call, or of its
// request where it has not started.
func (c *Call) fittingMutations(ctx context.Context, r *mutationsRequest, o readmodel.ListOptions,
	answer *mutationsAnswer) ([]mutationItem, error) {
	limit := cmp.Or(r.Limit, maxChanged)
	items := []mutationItem{}
	for {
		page, err := c.backend.cfg.Reader.Mutations(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			if at := cmp.Or(m.StartedAt, m.RequestedAt); at < r.Since || r.Until != 0 && at >= r.Until ||
				!m.Failed(r.Class, r.Code) {
				continue
			}
			if len(items) == limit {
				answer.More = true
				return items, nil
			}
			item := mutationItem{ID: m.ID, Workflow: m.Workflow, ParamsHash: m.ParamsHash}
			items = append(items, item)
			shown := chosenMutation{mutationItem: item, Connector: m.Connector, Operation: m.Operation, UITitle: m.UITitle}
			if shown.UITitle != nil {
				title := eventlog.ClipName(*shown.UITitle)
				shown.UITitle = &title
			}
			answer.Items = append(answer.Items, shown)
		}
		if page.Next == nil {
			return items, nil
		}
		o.Cursor = *page.Next
	}
}

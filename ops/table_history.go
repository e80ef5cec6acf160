package ops

import (
	"context"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// The queries of lists. Each kind takes only the filters that mean something to it: another one
// would silently match nothing.
type (
	paging struct {
		Cursor string `json:"cursor,omitempty" in:"query" jsonschema:"the next of the page before"`
		Limit  int    `json:"limit,omitempty" in:"query" jsonschema:"the most items on a page, 1 to 1000; 100 when left out"`
		Order  string `json:"order,omitempty" in:"query" jsonschema:"asc (oldest first, the default) or desc"`
		Q      string `json:"q,omitempty" in:"query" jsonschema:"text to find in titles, ids and error messages"`
	}
	workflowsQuery struct {
		paging
		Status string `json:"status,omitempty" in:"query" jsonschema:"active, paused, error or archived"`
	}
	runsQuery struct {
		paging
		Status  string           `json:"status,omitempty" in:"query" jsonschema:"the run's status, e.g. active or failed:logic"`
		Phase   string           `json:"phase,omitempty" in:"query" jsonschema:"the run's phase, e.g. mutating"`
		Handler eventlog.Handler `json:"handler,omitempty" in:"query" jsonschema:"a handler's name"`
	}
	eventsQuery struct {
		paging
		Status string         `json:"status,omitempty" in:"query" jsonschema:"pending, reserved, consumed, skipped or discarded"`
		Topic  eventlog.Topic `json:"topic,omitempty" in:"query" jsonschema:"a topic's name"`
		State  string         `json:"state,omitempty" in:"query" jsonschema:"the state of the event's job"`
	}
	jobsQuery struct {
		paging
		State   string           `json:"state,omitempty" in:"query" jsonschema:"available, running, retryable, completed, cancelled or discarded"`
		Status  string           `json:"status,omitempty" in:"query" jsonschema:"the status of the job's event"`
		Topic   eventlog.Topic   `json:"topic,omitempty" in:"query" jsonschema:"a topic's name"`
		Handler eventlog.Handler `json:"handler,omitempty" in:"query" jsonschema:"the consumer's name"`
	}
	statusQuery struct {
		paging
		Status string `json:"status,omitempty" in:"query" jsonschema:"only those of this status"`
	}

	workflowRuns struct {
		inWorkflow
		runsQuery
	}
	workflowEvents struct {
		inWorkflow
		eventsQuery
	}
	workflowJobs struct {
		inWorkflow
		jobsQuery
	}
	workflowStatus struct {
		inWorkflow
		statusQuery
	}

	runRequest struct {
		inWorkflow
		Run eventlog.RunID `json:"run" in:"path" jsonschema:"the run's id"`
	}
	mutationRequest struct {
		Mutation eventlog.MutationID `json:"mutation" in:"path" jsonschema:"the mutation's id"`
	}
	inputRequest struct {
		inWorkflow
		Input eventlog.InputID `json:"input" in:"path" jsonschema:"the input's id"`
	}
	sessionRequest struct {
		inWorkflow
		Session eventlog.SessionID `json:"session" in:"path" jsonschema:"the session's id"`
	}
	eventRequest struct {
		inWorkflow
		Topic     eventlog.Topic     `json:"topic" in:"path" jsonschema:"the topic's name"`
		MessageID eventlog.MessageID `json:"messageId" in:"path" jsonschema:"the event's id, as one percent-encoded segment"`
	}
)

func (q paging) options() readmodel.ListOptions {
	return readmodel.ListOptions{Cursor: q.Cursor, Limit: q.Limit, Desc: q.Order == "desc", Q: q.Q}
}

func (q paging) check() error {
	if q.Order != "" && q.Order != "asc" && q.Order != "desc" {
		return malformed("query.invalid", "order is %q; it must be asc or desc", clip(q.Order))
	}
	if q.Limit < 0 || q.Limit > readmodel.MaxLimit {
		return malformed("query.invalid", "limit is %d; it must be 1 to %d", q.Limit, readmodel.MaxLimit)
	}
	return nil
}

func (q *workflowsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Status = q.Status
	return o
}

func (q *runsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Status, o.Phase, o.Handler = q.Status, q.Phase, string(q.Handler)
	return o
}

func (q *eventsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Status, o.Topic, o.State = q.Status, string(q.Topic), q.State
	return o
}

func (q *jobsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.State, o.Status, o.Topic, o.Handler = q.State, q.Status, string(q.Topic), string(q.Handler)
	return o
}

func (q *statusQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Status = q.Status
	return o
}

// query is a list's request: its filters, and whether it is of one workflow.
type query interface {
	options() readmodel.ListOptions
	check() error
}

func listed[V any](ctx context.Context, q query, list func(context.Context, readmodel.ListOptions) (readmodel.Page[V], error)) (readmodel.Page[V], error) {
	if err := q.check(); err != nil {
		return readmodel.Page[V]{}, err
	}
	o := q.options()
	if one, ok := q.(interface{ workflow() eventlog.WorkflowName }); ok {
		if o.Workflow = one.workflow(); o.Workflow == "" {
			// An empty name would list across workflows.
			return readmodel.Page[V]{}, &readmodel.NotFoundError{What: "workflow"}
		}
	}
	return list(ctx, o)
}

var historyTable = []Operation{
	define(operation("listWorkflowRuns", "GET /v1/workflows/{workflow}/runs", Read, "List a workflow's runs"), func(ctx context.Context, c *Call, r *workflowRuns) (readmodel.Page[readmodel.Run], error) {
		return listed(ctx, r, c.server.cfg.Reader.Runs)
	}),
	define(operation("getRun", "GET /v1/workflows/{workflow}/runs/{run}", Read, "Show a run"), func(ctx context.Context, c *Call, r *runRequest) (readmodel.Run, error) {
		return c.server.cfg.Reader.Run(ctx, r.Workflow, r.Run)
	}),
	define(operation("listWorkflowEvents", "GET /v1/workflows/{workflow}/events", Read, "List a workflow's events"), func(ctx context.Context, c *Call, r *workflowEvents) (readmodel.Page[readmodel.Event], error) {
		return listed(ctx, r, c.server.cfg.Reader.Events)
	}),
	define(operation("getEvent", "GET /v1/workflows/{workflow}/events/{topic}/{messageId}", Read, "Show an event"), func(ctx context.Context, c *Call, r *eventRequest) (readmodel.Event, error) {
		return c.server.cfg.Reader.Event(ctx, r.Workflow, r.Topic, r.MessageID)
	}),
	define(operation("listWorkflowJobs", "GET /v1/workflows/{workflow}/jobs", Read, "List the processing records of a workflow's events"), func(ctx context.Context, c *Call, r *workflowJobs) (readmodel.Page[readmodel.Job], error) {
		return listed(ctx, r, c.server.cfg.Reader.Jobs)
	}),
	define(operation("getJob", "GET /v1/workflows/{workflow}/jobs/{topic}/{messageId}", Read, "Show the processing record of an event"), func(ctx context.Context, c *Call, r *eventRequest) (readmodel.Job, error) {
		return c.server.cfg.Reader.Job(ctx, r.Workflow, r.Topic, r.MessageID)
	}),
	define(operation("listWorkflowMutations", "GET /v1/workflows/{workflow}/mutations", Read, "List a workflow's mutations"), func(ctx context.Context, c *Call, r *workflowStatus) (readmodel.Page[readmodel.Mutation], error) {
		return listed(ctx, r, c.server.cfg.Reader.Mutations)
	}),
	define(operation("listWorkflowInputs", "GET /v1/workflows/{workflow}/inputs", Read, "List what a workflow took in from outside"), func(ctx context.Context, c *Call, r *workflowStatus) (readmodel.Page[readmodel.Input], error) {
		return listed(ctx, r, c.server.cfg.Reader.Inputs)
	}),
	define(operation("getInput", "GET /v1/workflows/{workflow}/inputs/{input}", Read, "Show what came in from outside, with what became of it"), func(ctx context.Context, c *Call, r *inputRequest) (readmodel.Input, error) {
		return c.server.cfg.Reader.Input(ctx, r.Workflow, r.Input)
	}),
	define(operation("listWorkflowSessions", "GET /v1/workflows/{workflow}/sessions", Read, "List a workflow's bursts of runs"), func(ctx context.Context, c *Call, r *workflowStatus) (readmodel.Page[readmodel.Session], error) {
		return listed(ctx, r, c.server.cfg.Reader.Sessions)
	}),
	define(operation("getSession", "GET /v1/workflows/{workflow}/sessions/{session}", Read, "Show a burst of runs"), func(ctx context.Context, c *Call, r *sessionRequest) (readmodel.Session, error) {
		return c.server.cfg.Reader.Session(ctx, r.Workflow, r.Session)
	}),
	define(operation("listWorkflowHandlers", "GET /v1/workflows/{workflow}/handlers", Read, "List the handlers of a workflow's current version"), func(ctx context.Context, c *Call, r *inWorkflow) (readmodel.Page[readmodel.Handler], error) {
		return c.server.cfg.Reader.Handlers(ctx, r.Workflow)
	}),
	define(operation("listRuns", "GET /v1/runs", Read, "List runs across workflows"), func(ctx context.Context, c *Call, r *runsQuery) (readmodel.Page[readmodel.Run], error) {
		return listed(ctx, r, c.server.cfg.Reader.Runs)
	}),
	define(operation("listEvents", "GET /v1/events", Read, "List events across workflows"), func(ctx context.Context, c *Call, r *eventsQuery) (readmodel.Page[readmodel.Event], error) {
		return listed(ctx, r, c.server.cfg.Reader.Events)
	}),
	define(operation("listJobs", "GET /v1/jobs", Read, "List the processing records of events across workflows"), func(ctx context.Context, c *Call, r *jobsQuery) (readmodel.Page[readmodel.Job], error) {
		return listed(ctx, r, c.server.cfg.Reader.Jobs)
	}),
	define(operation("listMutations", "GET /v1/mutations", Read, "List mutations across workflows"), func(ctx context.Context, c *Call, r *statusQuery) (readmodel.Page[readmodel.Mutation], error) {
		return listed(ctx, r, c.server.cfg.Reader.Mutations)
	}),
	define(operation("getMutation", "GET /v1/mutations/{mutation}", Read, "Show a mutation"), func(ctx context.Context, c *Call, r *mutationRequest) (readmodel.Mutation, error) {
		return c.server.cfg.Reader.Mutation(ctx, r.Mutation)
	}),
	define(operation("listInputs", "GET /v1/inputs", Read, "List what came in from outside, across workflows"), func(ctx context.Context, c *Call, r *statusQuery) (readmodel.Page[readmodel.Input], error) {
		return listed(ctx, r, c.server.cfg.Reader.Inputs)
	}),
	define(operation("listSessions", "GET /v1/sessions", Read, "List bursts of runs across workflows"), func(ctx context.Context, c *Call, r *statusQuery) (readmodel.Page[readmodel.Session], error) {
		return listed(ctx, r, c.server.cfg.Reader.Sessions)
	}),
}

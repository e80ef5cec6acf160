package ops

import (
	"context"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// The queries of lists. Each kind has only the filters that make sense for it: any other filter would silently match
// nothing.
type (
	paging struct {
		Cursor string    `json:"cursor,omitempty" in:"query" jsonschema:"the next of the page before"`
		Limit  pageLimit `json:"limit,omitempty" in:"query" jsonschema:"the most items on a page; 100 when left out"`
		Order  order     `json:"order,omitempty" in:"query" jsonschema:"asc (oldest first) when left out"`
		Scan   pageScan  `json:"scan,omitempty" in:"query" jsonschema:"look at no more items than this: the page may then be short or empty, reached says how far it has come, and next goes on; all that it takes when left out"`
		Q      string    `json:"q,omitempty" in:"query" jsonschema:"text to find in titles, error messages and ids (ten characters or more of an id that pawl made); of a run or a mutation also in ids and titles of its events; the whole idempotency key of a mutation finds it"`
	}
	period struct {
		paging
		Since eventlog.Instant `json:"since,omitempty" in:"query" jsonschema:"what happened at this time or later: the start of a run or a session, the publishing of an event, the end of a job or the publishing of one that is not over, the request of a mutation, the arrival of an input"`
		Until eventlog.Instant `json:"until,omitempty" in:"query" jsonschema:"what happened before this time"`
	}
	workflowsQuery struct {
		paging
		Status projections.Status `json:"status,omitempty" in:"query" jsonschema:"the workflow's status"`
	}
	runsQuery struct {
		period
		Status  runFilter        `json:"status,omitempty" in:"query" jsonschema:"the run's status; failed is that of all runs that have failed, whatever the class"`
		Phase   eventlog.Phase   `json:"phase,omitempty" in:"query" jsonschema:"the run's phase"`
		Handler eventlog.Handler `json:"handler,omitempty" in:"query" jsonschema:"a handler's name"`
		Class   eventlog.Class   `json:"class,omitempty" in:"query" jsonschema:"the class of the error that it ended with"`
		Ended   *bool            `json:"ended,omitempty" in:"query" jsonschema:"whether it has ended; of those in paused:approval, one that has not awaits an approval"`
	}
	eventsQuery struct {
		period
		Status eventlog.EventStatus `json:"status,omitempty" in:"query" jsonschema:"the event's status"`
		Topic  eventlog.Topic       `json:"topic,omitempty" in:"query" jsonschema:"a topic's name"`
		State  projections.JobState `json:"state,omitempty" in:"query" jsonschema:"the state of the event's job"`
		Held   eventlog.HeldReason  `json:"held,omitempty" in:"query" jsonschema:"what the event is held for"`
	}
	jobsQuery struct {
		period
		State   projections.JobState `json:"state,omitempty" in:"query" jsonschema:"the job's state"`
		Status  eventlog.EventStatus `json:"status,omitempty" in:"query" jsonschema:"the status of the job's event"`
		Topic   eventlog.Topic       `json:"topic,omitempty" in:"query" jsonschema:"a topic's name"`
		Handler eventlog.Handler     `json:"handler,omitempty" in:"query" jsonschema:"the consumer's name"`
		Held    eventlog.HeldReason  `json:"held,omitempty" in:"query" jsonschema:"what the job's event is held for"`
	}
	mutationsQuery struct {
		period
		Status eventlog.MutationStatus `json:"status,omitempty" in:"query" jsonschema:"the mutation's status"`
		Held   mutationHeld            `json:"held,omitempty" in:"query" jsonschema:"what keeps its run and its events waiting: an approval, the outcome that is being asked for, or a person's word on it"`

		FromVersion eventlog.Version `json:"fromVersion,omitempty" in:"query" jsonschema:"what this version of the script did, or a later one"`
		ToVersion   eventlog.Version `json:"toVersion,omitempty" in:"query" jsonschema:"what this version of the script did, or an earlier one"`
	}
	inputsQuery struct {
		period
		Status projections.InputStatus `json:"status,omitempty" in:"query" jsonschema:"the input's status"`
	}
	sessionsQuery struct {
		period
		Status eventlog.SessionResult `json:"status,omitempty" in:"query" jsonschema:"the session's result"`
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
	workflowMutations struct {
		inWorkflow
		mutationsQuery
	}
	workflowInputs struct {
		inWorkflow
		inputsQuery
	}
	workflowSessions struct {
		inWorkflow
		sessionsQuery
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
	return readmodel.ListOptions{Cursor: q.Cursor, Limit: int(q.Limit), Desc: q.Order == newestFirst, Q: q.Q,
		Scan: int(q.Scan)}
}

func (q period) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Since, o.Until = q.Since, q.Until
	return o
}

func (q *workflowsQuery) options() readmodel.ListOptions {
	o := q.paging.options()
	o.Status = string(q.Status)
	return o
}

func (q *runsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.Status, o.Phase, o.Handler = string(q.Status), string(q.Phase), string(q.Handler)
	o.Class, o.Ended = string(q.Class), q.Ended
	return o
}

func (q *eventsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.Status, o.Topic, o.State, o.Held = string(q.Status), string(q.Topic), string(q.State), string(q.Held)
	return o
}

func (q *jobsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.State, o.Status, o.Topic, o.Handler = string(q.State), string(q.Status), string(q.Topic), string(q.Handler)
	o.Held = string(q.Held)
	return o
}

func (q *mutationsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.Status, o.Held = string(q.Status), string(q.Held)
	o.FromVersion, o.ToVersion = q.FromVersion, q.ToVersion
	return o
}

func (q *inputsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.Status = string(q.Status)
	return o
}

func (q *sessionsQuery) options() readmodel.ListOptions {
	o := q.period.options()
	o.Status = string(q.Status)
	return o
}

// query is a list's request with its filters.
type query interface{ options() readmodel.ListOptions }

func listed[V any](ctx context.Context, c *Call, q query,
	list func(context.Context, readmodel.ListOptions) (readmodel.Page[V], error)) (readmodel.Page[V], error) {
	o := q.options()
	o.Workflow = c.Workflow
	if one, ok := q.(rpc.Scoped); ok {
		o.Workflow = *one.Scope()
	}
	return list(ctx, o)
}

var historyTable = []Operation{
	define(operation("listWorkflowRuns", "GET /v1/workflows/{workflow}/runs", rpc.Viewer, "List a workflow's runs"),
		func(ctx context.Context, c *Call, r *workflowRuns) (readmodel.Page[readmodel.Run], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Runs)
		}),
	define(operation("getRun", "GET /v1/workflows/{workflow}/runs/{run}", rpc.Viewer, "Show a run"),
		func(ctx context.Context, c *Call, r *runRequest) (readmodel.Run, error) {
			return c.backend.cfg.Reader.Run(ctx, r.Workflow, r.Run)
		}),
	define(operation("listWorkflowEvents", "GET /v1/workflows/{workflow}/events", rpc.Viewer, "List a workflow's events"),
		func(ctx context.Context, c *Call, r *workflowEvents) (readmodel.Page[readmodel.Event], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Events)
		}),
	define(operation("getEvent", "GET /v1/workflows/{workflow}/events/{topic}/{messageId}", rpc.Viewer, "Show an event"),
		func(ctx context.Context, c *Call, r *eventRequest) (readmodel.Event, error) {
			return c.backend.cfg.Reader.Event(ctx, r.Workflow, r.Topic, r.MessageID)
		}),
	define(operation("listWorkflowJobs", "GET /v1/workflows/{workflow}/jobs", rpc.Viewer,
		"List the processing records of a workflow's events"),
		func(ctx context.Context, c *Call, r *workflowJobs) (readmodel.Page[readmodel.Job], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Jobs)
		}),
	define(operation("getJob", "GET /v1/workflows/{workflow}/jobs/{topic}/{messageId}", rpc.Viewer,
		"Show the processing record of an event"), func(ctx context.Context, c *Call, r *eventRequest) (readmodel.Job,
		error) {
		return c.backend.cfg.Reader.Job(ctx, r.Workflow, r.Topic, r.MessageID)
	}),
	define(operation("listWorkflowMutations", "GET /v1/workflows/{workflow}/mutations", rpc.Viewer,
		"List a workflow's mutations"),
		func(ctx context.Context, c *Call, r *workflowMutations) (readmodel.Page[readmodel.Mutation], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Mutations)
		}),
	define(operation("listWorkflowInputs", "GET /v1/workflows/{workflow}/inputs", rpc.Viewer,
		"List what a workflow took in from outside"),
		func(ctx context.Context, c *Call, r *workflowInputs) (readmodel.Page[readmodel.Input], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Inputs)
		}),
	define(operation("getInput", "GET /v1/workflows/{workflow}/inputs/{input}", rpc.Viewer,
		"Show what came in from outside, with what became of it"),
		func(ctx context.Context, c *Call, r *inputRequest) (readmodel.Input, error) {
			return c.backend.cfg.Reader.Input(ctx, r.Workflow, r.Input)
		}),
	define(operation("traceInput", "GET /v1/workflows/{workflow}/inputs/{input}/trace", rpc.Viewer,
		"Follow what came in from outside to its events and the calls that were made for them"),
		func(ctx context.Context, c *Call, r *inputRequest) (readmodel.Trace, error) {
			return c.backend.cfg.Reader.Trace(ctx, r.Workflow, r.Input)
		}),
	define(operation("listWorkflowSessions", "GET /v1/workflows/{workflow}/sessions", rpc.Viewer,
		"List a workflow's bursts of runs"),
		func(ctx context.Context, c *Call, r *workflowSessions) (readmodel.Page[readmodel.Session], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Sessions)
		}),
	define(operation("getSession", "GET /v1/workflows/{workflow}/sessions/{session}", rpc.Viewer, "Show a burst of runs"),
		func(ctx context.Context, c *Call, r *sessionRequest) (readmodel.Session, error) {
			return c.backend.cfg.Reader.Session(ctx, r.Workflow, r.Session)
		}),
	define(operation("listWorkflowHandlers", "GET /v1/workflows/{workflow}/handlers", rpc.Viewer,
		"List the handlers of a workflow's current version"),
		func(ctx context.Context, c *Call, r *inWorkflow) (readmodel.Page[readmodel.Handler], error) {
			return c.backend.cfg.Reader.Handlers(ctx, r.Workflow)
		}),
	define(operation("listRuns", "GET /v1/runs", rpc.Viewer, "List runs across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *runsQuery) (readmodel.Page[readmodel.Run], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Runs)
		}),
	define(operation("listEvents", "GET /v1/events", rpc.Viewer, "List events across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *eventsQuery) (readmodel.Page[readmodel.Event], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Events)
		}),
	define(operation("listJobs", "GET /v1/jobs", rpc.Viewer,
		"List the processing records of events across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *jobsQuery) (readmodel.Page[readmodel.Job], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Jobs)
		}),
	define(operation("listMutations", "GET /v1/mutations", rpc.Viewer, "List mutations across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *mutationsQuery) (readmodel.Page[readmodel.Mutation], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Mutations)
		}),
	define(operation("getMutation", "GET /v1/mutations/{mutation}", rpc.Viewer, "Show a mutation").narrowing(),
		func(ctx context.Context, c *Call, r *mutationRequest) (readmodel.Mutation, error) {
			return c.mutation(ctx, r.Mutation)
		}),
	define(operation("listInputs", "GET /v1/inputs", rpc.Viewer,
		"List what came in from outside, across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *inputsQuery) (readmodel.Page[readmodel.Input], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Inputs)
		}),
	define(operation("listSessions", "GET /v1/sessions", rpc.Viewer, "List bursts of runs across workflows").narrowing(),
		func(ctx context.Context, c *Call, r *sessionsQuery) (readmodel.Page[readmodel.Session], error) {
			return listed(ctx, c, r, c.backend.cfg.Reader.Sessions)
		}),
}

// mutation finds a mutation, if the caller may see its workflow.
func (c *Call) mutation(ctx context.Context, id eventlog.MutationID) (readmodel.Mutation, error) {
	m, err := c.backend.cfg.Reader.Mutation(ctx, id)
	if err != nil {
		return readmodel.Mutation{}, err
	}
	if p := c.Sees(m.Workflow); p != nil {
		return readmodel.Mutation{}, p
	}
	return m, nil
}

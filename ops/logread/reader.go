package logread

import (
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Reader reads a log for callers. All of its fields are required.
type Reader struct {
	Log eventlog.Log
	// Guard says whether a caller's token is still in use, Revocations when to ask it again.
	Guard       *auth.Guard
	Revocations *auth.Revocations
	// Followers bounds how many wait for the log to go on.
	Followers *auth.Quota
	// KeepAlive is the time between comments on a silent stream, and how long a page waits for the log to go on.
	KeepAlive time.Duration
	// Known says why there is nothing to read of a workflow, nil for one that the log holds.
	Known func(eventlog.WorkflowName) error
	// Fault makes the problem of an error at which the log ends, and notes it.
	Fault func(error) *rpc.Problem
	// Problem makes the problem of an error.
	Problem func(error) *rpc.Problem
	// Saw is told of a record that cannot be read.
	Saw    func(problem string)
	Logger *slog.Logger
}

// Query says what is to be read.
type Query struct {
	From     string                `json:"from,omitempty" in:"query" jsonschema:"the first position to read, partition:seq, or a bare number for partition 0; several are joined by commas; the beginning when left out"`
	Workflow eventlog.WorkflowName `json:"workflow,omitempty" in:"query" jsonschema:"only this workflow's transitions"`
	Follow   bool                  `json:"follow,omitempty" in:"query" jsonschema:"go on with new transitions: the stream stays open"`
	Tail     Count                 `json:"tail,omitempty" in:"query" jsonschema:"only the newest so many of what is there to read"`
	Limit    Count                 `json:"limit,omitempty" in:"query" jsonschema:"the most transitions to answer; all when left out, in a page at most 1000"`
}

// Scope implements rpc.Scoped.
func (q *Query) Scope() *eventlog.WorkflowName { return &q.Workflow }

// Count is a number of transitions of 1 or more; 0 when left out.
type Count int

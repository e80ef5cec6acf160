package logread

import (
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Reader reads a log for callers. All of its fields but Generation are required.
type Reader struct {
	Log eventlog.Log
	// Generation is before the positions of a log that was restored from a backup; empty for any other log.
	Generation string
	// Guard says whether a caller's token is still valid, Revocations when to ask it again.
	Guard       *auth.Guard
	Revocations *auth.Revocations
	// Followers bounds how many requests wait for new transitions.
	Followers *auth.Quota
	// KeepAlive is the time between comments on a silent stream, and how long a page waits for the log to go on.
	KeepAlive time.Duration
	// Known returns an error for a workflow of which the log holds nothing.
	Known func(eventlog.WorkflowName) error
	// Fault makes the problem of an error at which a reading ends, and logs it.
	Fault func(error) *rpc.Problem
	// Problem makes the problem of an error.
	Problem func(error) *rpc.Problem
	// Saw is called for a record that cannot be read.
	Saw    func(problem string)
	Logger *slog.Logger
}

// Query says what is to be read.
type Query struct {
	From     string                `json:"from,omitempty" in:"query" jsonschema:"the first position to read, partition:seq, or a bare number for partition 0; several are joined by commas; the beginning when left out"`
	Workflow eventlog.WorkflowName `json:"workflow,omitempty" in:"query" jsonschema:"only this workflow's transitions"`
	Type     string                `json:"type,omitempty" in:"query" jsonschema:"only transitions that hold a fact of one of these types, joined by commas, such as run.failed,mutation.*"`
	Follow   bool                  `json:"follow,omitempty" in:"query" jsonschema:"go on with new transitions: the stream stays open"`
	Tail     Count                 `json:"tail,omitempty" in:"query" jsonschema:"only the newest so many of what is there to read"`
	Before   string                `json:"before,omitempty" in:"query" jsonschema:"only what stands before these positions"`
	Scan     Count                 `json:"scan,omitempty" in:"query" jsonschema:"with tail: about how many transitions are read at most to find so many that are asked for; any number when left out"`
	Limit    Count                 `json:"limit,omitempty" in:"query" jsonschema:"the most transitions to answer; all when left out, in a page at most 1000"`
}

// Scope implements rpc.Scoped.
func (q *Query) Scope() *eventlog.WorkflowName { return &q.Workflow }

// shows reports whether the query asks for the types of the readable record. Its workflow was chosen when it was read.
// Transitions of the installation itself are shown to no caller.
func (q *Query) shows(r eventlog.Record) bool {
	if r.Workflow == eventlog.Installation {
		return false
	}
	return q.Type == "" || slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
		for name := range strings.SplitSeq(q.Type, ",") {
			if chosen(name, f.FactType()) {
				return true
			}
		}
		return false
	})
}

// chosen reports whether name is the type of a fact, or a group such as run.* which has that type.
func chosen(name string, t eventlog.FactType) bool {
	name = strings.TrimSpace(name)
	if group, all := strings.CutSuffix(name, ".*"); all {
		return strings.HasPrefix(string(t), group+".")
	}
	return eventlog.PresentName(eventlog.FactType(name)) == t
}

// checkTypes refuses a type, or a group of types, that no fact has.
func (q *Query) checkTypes() error {
	if q.Type == "" {
		return nil
	}
	known := eventlog.FactTypes()
	for name := range strings.SplitSeq(q.Type, ",") {
		if !slices.ContainsFunc(known, func(t eventlog.FactType) bool { return chosen(name, t) }) {
			return rpc.Malformed("type.unknown", "there are no facts of type %q",
				eventlog.ClipName(eventlog.FactType(strings.TrimSpace(name)))).
				WithHint("the types are " + strings.Join(slices.Sorted(namesOf(known)), ", ") +
					"; run.* are all that are of runs")
		}
	}
	return nil
}

func namesOf(types []eventlog.FactType) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, t := range types {
			if !yield(string(t)) {
				return
			}
		}
	}
}

// Count is a number of transitions of 1 or more; 0 when left out.
type Count int

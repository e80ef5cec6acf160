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
	// Generation stands before the positions of a log that was restored from a backup, empty for one that was not.
	Generation string
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
	Type     string                `json:"type,omitempty" in:"query" jsonschema:"only transitions that hold a fact of one of these types, joined by commas, such as run.failed,mutation.*"`
	Follow   bool                  `json:"follow,omitempty" in:"query" jsonschema:"go on with new transitions: the stream stays open"`
	Tail     Count                 `json:"tail,omitempty" in:"query" jsonschema:"only the newest so many of what is there to read"`
	Before   string                `json:"before,omitempty" in:"query" jsonschema:"only what stands before these positions"`
	Scan     Count                 `json:"scan,omitempty" in:"query" jsonschema:"with tail: about how many transitions are read at most to find so many that are asked for; any number when left out"`
	Limit    Count                 `json:"limit,omitempty" in:"query" jsonschema:"the most transitions to answer; all when left out, in a page at most 1000"`
}

// Scope implements rpc.Scoped.
func (q *Query) Scope() *eventlog.WorkflowName { return &q.Workflow }

// shows reports whether the readable record is among what is asked for, as far as it says: its workflow is chosen where
// it is read. Transitions of the installation itself are shown to no caller.
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

// chosen reports whether a fact's type is that of the name, or in the group that the name is, such as run.*.
func chosen(name string, t eventlog.FactType) bool {
	name = strings.TrimSpace(name)
	if group, all := strings.CutSuffix(name, ".*"); all {
		return strings.HasPrefix(string(t), group+".")
	}
	return eventlog.PresentName(eventlog.FactType(name)) == t
}

// checkTypes refuses a type, or a group of them, of which there are no facts.
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

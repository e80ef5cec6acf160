package projections

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// maxAttemptsKept bounds an event's row: a job that crashes forever (J6) must not grow forever.
const maxAttemptsKept = 50

// JobState is the processing state of a topic event (the six states of the job model).
type JobState string

// The states of a job.
const (
	JobAvailable JobState = "available"
	JobRunning   JobState = "running"
	JobRetryable JobState = "retryable"
	JobCompleted JobState = "completed"
	JobCancelled JobState = "cancelled"
	JobDiscarded JobState = "discarded"
)

// Job derives the job's state from its event; no job is stored.
func (e *TopicEvent) Job() JobState {
	switch e.Status {
	case eventlog.EventStatusReserved:
		return JobRunning
	case eventlog.EventStatusConsumed:
		return JobCompleted
	case eventlog.EventStatusSkipped:
		return JobCancelled
	case eventlog.EventStatusDiscarded:
		return JobDiscarded
	case eventlog.EventStatusPending:
		if e.failed() {
			return JobRetryable
		}
	}
	return JobAvailable
}

// Attempt is the number, from 1, of the job's attempt that runs or comes next; of a discarded job that of
// the last. What does not count against the job is the same attempt again (J2).
func (e *TopicEvent) Attempt() int {
	if e.Status == eventlog.EventStatusDiscarded {
		return e.Failures
	}
	return e.Failures + 1
}

// failed reports whether an attempt has failed since the event was created or redriven. A crash
// is no failure.
func (e *TopicEvent) failed() bool {
	since := max(0, len(e.Attempts)-e.Executions)
	return e.Failures > 0 || e.Tries > 0 || slices.ContainsFunc(e.Attempts[since:], func(a Attempt) bool {
		return a.Failure != nil
	})
}

// InputStatus is what became of an input.
type InputStatus string

// The statuses of an input.
const (
	InputPending   InputStatus = "pending"
	InputDone      InputStatus = "done"
	InputSkipped   InputStatus = "skipped"
	InputDiscarded InputStatus = "discarded"
)

// Status derives an input's status: pending while any event it caused is pending or reserved, then discarded while any
// of them is, and skipped if all of them are.
func (i *Input) Status() InputStatus {
	switch {
	case i.Open > 0:
		return InputPending
	case i.Discarded > 0:
		return InputDiscarded
	case i.Consumed == 0 && i.Skipped > 0:
		return InputSkipped
	default:
		return InputDone
	}
}

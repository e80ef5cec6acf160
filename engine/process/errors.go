package process

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// ErrUnavailable says that the engine cannot record anything now; ask again later.
var ErrUnavailable = errors.New("the engine cannot record this now")

// ErrNothingRecorded is an ErrUnavailable: the request was never handed to the log, or is known not to be in it.
var ErrNothingRecorded = fmt.Errorf("%w: nothing was recorded", ErrUnavailable)

// ErrNoDiskSpace is an ErrNothingRecorded: there is too little disk space.
var ErrNoDiskSpace = fmt.Errorf("%w for lack of disk space", ErrNothingRecorded)

// ErrUnknownOutcome is an ErrUnavailable: the caller left before the log had answered. If the log has the
// request, it is recorded and done, though the caller is not told.
var ErrUnknownOutcome error = unknownOutcome{}

type unknownOutcome struct{}

func (unknownOutcome) Error() string {
	return "the log has not answered yet, so the outcome is not known; it is recorded if the log has it"
}

func (unknownOutcome) Unwrap() error { return ErrUnavailable }

// ErrNotRead is an ErrUnavailable: another engine has recorded the request, and this one has not read that yet.
var ErrNotRead error = notRead{}

type notRead struct{}

func (notRead) Error() string { return "it is recorded, but this engine has not read that yet" }

func (notRead) Unwrap() error { return ErrUnavailable }

// ErrNotOwner: another engine owns the partition, or none does.
var ErrNotOwner = errors.New("this engine does not own the workflow's partition")

// ErrDefect marks a fault of the engine itself: the workflow stops instead of guessing.
var ErrDefect = errors.New("defect")

// ErrStopped is returned for a workflow that is out of service.
var ErrStopped = errors.New("workflow is stopped")

// LogUnwritable says that the log will not take anything from this process any more. Damage that stops one workflow
// does not make the log unwritable for the others.
func LogUnwritable(err error) bool {
	if errors.Is(err, ErrStopped) {
		return false
	}
	return errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrClosed)
}

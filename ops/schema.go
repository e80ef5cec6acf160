package ops

import (
	"encoding/json"
	"reflect"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/hooks"
	"github.com/pawl-run/pawl/ops/logread"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// knownTypes are the types whose JSON does not follow from their Go kind. The values of an enumeration here are the
// constants of its type. There is no other list: requests are checked against this one.
var knownTypes = rpc.Types{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[rpc.RawJSON]():     {},
	reflect.TypeFor[backup.Bytes]():    {Type: "string"},
	reflect.TypeFor[doctor.Verdict]():  rpc.Enum(doctor.OK, doctor.Weak, doctor.Problem, doctor.Unknown),
	reflect.TypeFor[lease.Shortage]():  rpc.Enum(lease.LacksDiskSpace, lease.LacksStore, lease.LacksRecords),
	reflect.TypeFor[eventlog.Instant](): {
		Types: []string{"string", "null"}, Description: "RFC 3339 with up to microseconds, UTC",
	},
	reflect.TypeFor[projections.Status](): rpc.Enum(projections.StatusActive, projections.StatusPaused,
		projections.StatusError, projections.StatusArchived),
	reflect.TypeFor[eventlog.Phase](): rpc.Enum(eventlog.PhasePending, eventlog.PhaseExecuting, eventlog.PhasePreparing,
		eventlog.PhasePrepared,
		eventlog.PhaseMutating, eventlog.PhaseMutated, eventlog.PhaseEmitting, eventlog.PhaseCommitted),
	reflect.TypeFor[eventlog.RunStatus]():   rpc.Enum(runStatuses...),
	reflect.TypeFor[runFilter]():            rpc.Enum(runFilters()...),
	reflect.TypeFor[eventlog.HandlerType](): rpc.Enum(eventlog.ProducerHandler, eventlog.ConsumerHandler),
	reflect.TypeFor[eventlog.EventStatus](): rpc.Enum(eventlog.EventStatusPending, eventlog.EventStatusReserved,
		eventlog.EventStatusConsumed, eventlog.EventStatusSkipped, eventlog.EventStatusDiscarded),
	reflect.TypeFor[projections.JobState](): rpc.Enum(projections.JobAvailable, projections.JobRunning,
		projections.JobRetryable,
		projections.JobCompleted, projections.JobCancelled, projections.JobDiscarded),
	reflect.TypeFor[eventlog.MutationStatus](): rpc.Enum(eventlog.MutationStatusGivenUp,
		eventlog.MutationStatusAwaitingApproval, eventlog.MutationStatusInFlight,
		eventlog.MutationStatusNeedsReconcile, eventlog.MutationStatusIndeterminate, eventlog.MutationStatusApplied,
		eventlog.MutationStatusFailed),
	reflect.TypeFor[projections.MutationOutcome](): rpc.Enum(projections.OutcomeSuccess, projections.OutcomeFailure,
		projections.OutcomeSkipped),
	reflect.TypeFor[eventlog.Class](): rpc.Enum(eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth,
		eventlog.Precondition, eventlog.Internal),
	reflect.TypeFor[eventlog.BlockReason](): rpc.Enum(eventlog.BlockApproval, eventlog.BlockReconcile,
		eventlog.BlockIndeterminate, eventlog.BlockTransient,
		eventlog.BlockLogic, eventlog.BlockPermission, eventlog.BlockAuth, eventlog.BlockPrecondition, eventlog.BlockInternal,
		eventlog.BlockContradiction, eventlog.BlockLoss),
	reflect.TypeFor[projections.AttentionReason](): rpc.Enum(
		projections.AttentionTransient, projections.AttentionDiscarded, projections.AttentionUnknown,
		projections.AttentionHeld, projections.AttentionProbing, projections.AttentionFailing,
		projections.AttentionDamage),
	reflect.TypeFor[mutationHeld]():        rpc.Enum(heldApproval, heldIndeterminate, heldReconcile),
	reflect.TypeFor[eventlog.HeldReason](): rpc.Enum(eventlog.HeldReasons()...),
	reflect.TypeFor[eventlog.TokenRole](): rpc.Enum(eventlog.RoleViewer, eventlog.RoleIngest, eventlog.RoleOperator,
		eventlog.RoleAdmin),
	reflect.TypeFor[eventlog.Grant](): rpc.Enum(eventlog.GrantAllow, eventlog.GrantAsk, eventlog.GrantDeny),
	reflect.TypeFor[hooks.Readiness](): rpc.Enum(hooks.Ready, hooks.SecretUnknown, hooks.SecretNotGranted,
		hooks.SecretUnusable),
	reflect.TypeFor[connector.Kind](): rpc.Enum(connector.List, connector.Get, connector.Mutate),
	reflect.TypeFor[projections.InputStatus](): rpc.Enum(projections.InputPending, projections.InputDone,
		projections.InputSkipped, projections.InputDiscarded),
	reflect.TypeFor[eventlog.SessionResult](): rpc.Enum(eventlog.SessionCompleted, eventlog.SessionFailed),
	reflect.TypeFor[order]():                  rpc.Enum(oldestFirst, newestFirst),
	reflect.TypeFor[pageLimit](): {Type: "integer", Minimum: at(1),
		Maximum: at(readmodel.MaxLimit)},
	reflect.TypeFor[pageScan]():      {Type: "integer", Minimum: at(1)},
	reflect.TypeFor[logread.Count](): {Type: "integer", Minimum: at(1)},
	reflect.TypeFor[ProducerRuns]():  rpc.Enum(RunsNow, RunsQueued),
	reflect.TypeFor[decide.Resolution](): rpc.Enum(decide.DidHappen, decide.DidNotHappen, decide.Skip,
		decide.TryAgain),
	reflect.TypeFor[decide.Reason](): rpc.Enum(decide.Reasons()...),
}

// pageLimit is how many items a page may have at most, 1 to readmodel.MaxLimit; 0 when left out.
type pageLimit int

// pageScan is how many items are looked at for a page at most; 0 when left out.
type pageScan int

// runStatuses are the statuses of runs.
var runStatuses = []eventlog.RunStatus{eventlog.RunStatusActive, eventlog.RunStatusPausedTransient,
	eventlog.RunStatusPausedApproval, eventlog.RunStatusPausedReconcile, eventlog.RunStatusFailedLogic,
	eventlog.RunStatusFailedInternal, eventlog.RunStatusCommitted, eventlog.RunStatusCrashed}

// runFilter is a status of runs, or [readmodel.RunFailed].
type runFilter string

func runFilters() []runFilter {
	var all []runFilter
	for _, status := range runStatuses {
		all = append(all, runFilter(status))
	}
	return append(all, readmodel.RunFailed)
}

// mutationHeld is the reason for which a mutation keeps its run and its events waiting.
type mutationHeld string

// The values of mutationHeld: those of eventlog.HeldReason that are about a call.
const (
	heldApproval      mutationHeld = "approval"
	heldIndeterminate mutationHeld = "indeterminate"
	heldReconcile     mutationHeld = "reconcile"
)

// order is the direction of a list.
type order string

const (
	oldestFirst order = "asc"
	newestFirst order = "desc"
)

// ProducerRuns says when a producer runs that a person has asked to run.
type ProducerRuns string

// The values of ProducerRuns.
const (
	RunsNow    ProducerRuns = "now"
	RunsQueued ProducerRuns = "queued"
)

// at is a bound of a number.
func at(bound float64) *float64 { return &bound }

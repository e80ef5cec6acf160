package ops

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// rawJSON is any JSON; nothing is null.
type rawJSON json.RawMessage

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawJSON) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}

// transitionDocument is the form of eventlog.Record's JSON, for its schema.
type transitionDocument struct {
	Partition int                   `json:"partition"`
	Seq       uint64                `json:"seq"`
	ID        eventlog.TransitionID `json:"id"`
	Workflow  eventlog.WorkflowName `json:"workflow"`
	Revision  uint64                `json:"revision"`
	Kind      eventlog.FactType     `json:"kind"`
	At        eventlog.Instant      `json:"at"`
	Actor     eventlog.Actor        `json:"actor"`
	Cause     eventlog.Cause        `json:"cause"`
	Events    []factDocument        `json:"events" jsonschema:"the facts that became true together"`
}

type factDocument struct {
	Type    eventlog.FactType `json:"type"`
	Version int               `json:"version"`
	Data    rawJSON           `json:"data"`
}

// knownSchemas are the types whose JSON their Go kind does not tell.
var knownSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[rawJSON]():         {},
	reflect.TypeFor[eventlog.Instant](): {
		Types: []string{"string", "null"}, Description: "RFC 3339 with up to microseconds, UTC",
	},
	reflect.TypeFor[projections.Status](): enum(projections.StatusActive, projections.StatusPaused, projections.StatusError, projections.StatusArchived),
	reflect.TypeFor[eventlog.Phase](): enum(eventlog.PhasePending, eventlog.PhaseExecuting, eventlog.PhasePreparing, eventlog.PhasePrepared,
		eventlog.PhaseMutating, eventlog.PhaseMutated, eventlog.PhaseEmitting, eventlog.PhaseCommitted),
	reflect.TypeFor[eventlog.RunStatus](): enum(eventlog.RunActive, eventlog.RunPausedTransient, eventlog.RunPausedApproval, eventlog.RunPausedReconcile,
		eventlog.RunFailedLogic, eventlog.RunFailedInternal, eventlog.RunStatusCommitted, eventlog.RunStatusCrashed),
	reflect.TypeFor[eventlog.HandlerType](): enum(eventlog.ProducerHandler, eventlog.ConsumerHandler),
	reflect.TypeFor[eventlog.EventStatus](): enum(eventlog.EventPending, eventlog.EventStatusReserved, eventlog.EventStatusConsumed,
		eventlog.EventStatusSkipped, eventlog.EventStatusDiscarded),
	reflect.TypeFor[projections.JobState](): enum(projections.JobAvailable, projections.JobRunning, projections.JobRetryable,
		projections.JobCompleted, projections.JobCancelled, projections.JobDiscarded),
	reflect.TypeFor[eventlog.MutationStatus](): enum(eventlog.MutationAwaitingApproval, eventlog.MutationInFlight, eventlog.MutationNeedsReconcile,
		eventlog.MutationIndeterminate, eventlog.MutationStatusApplied, eventlog.MutationStatusFailed),
	reflect.TypeFor[projections.MutationOutcome](): enum(projections.OutcomeSuccess, projections.OutcomeFailure, projections.OutcomeSkipped),
	reflect.TypeFor[eventlog.Class](): enum(eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth,
		eventlog.Precondition, eventlog.Internal),
	reflect.TypeFor[eventlog.BlockReason](): enum(eventlog.BlockApproval, eventlog.BlockReconcile, eventlog.BlockIndeterminate, eventlog.BlockTransient,
		eventlog.BlockLogic, eventlog.BlockPermission, eventlog.BlockAuth, eventlog.BlockPrecondition, eventlog.BlockInternal,
		eventlog.BlockContradiction, eventlog.BlockLoss),
	reflect.TypeFor[eventlog.Grant]():    enum(eventlog.GrantAllow, eventlog.GrantAsk, eventlog.GrantDeny),
	reflect.TypeFor[connector.Kind]():    enum(connector.List, connector.Get, connector.Mutate),
	reflect.TypeFor[decide.Resolution](): enum(decide.DidNotHappen, decide.Skip, decide.TryAgain),
	reflect.TypeFor[decide.Reason](): enum(decide.ReasonIdle, decide.ReasonScheduled, decide.ReasonWake, decide.ReasonBackoff, decide.ReasonUserPause,
		decide.ReasonApproval, decide.ReasonReconcile, decide.ReasonIndeterminate, decide.ReasonMaintenance, decide.ReasonBlocked,
		decide.ReasonStorage, decide.ReasonArchived, reasonNoWorker),
}

func enum[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// oneOf reports a filter's value that is none of those that its type can have.
func oneOf[T ~string](filter, value string) error {
	possible := knownSchemas[reflect.TypeFor[T]()].Enum
	if value == "" || slices.Contains(possible, any(value)) {
		return nil
	}
	words := make([]string, len(possible))
	for i, v := range possible {
		words[i] = fmt.Sprint(v)
	}
	return fmt.Errorf("%s is %q; it must be one of %s", filter, clip(value), strings.Join(words, ", "))
}

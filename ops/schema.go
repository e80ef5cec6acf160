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
	"github.com/pawl-run/pawl/projections/readmodel"
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

// knownSchemas are the types whose JSON their Go kind does not tell. What an enumeration lists here is
// what its type's constants are, and the only list: requests are checked against it.
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
	reflect.TypeFor[eventlog.MutationStatus](): enum(eventlog.MutationStatusGivenUp, eventlog.MutationAwaitingApproval, eventlog.MutationInFlight, eventlog.MutationNeedsReconcile,
		eventlog.MutationIndeterminate, eventlog.MutationStatusApplied, eventlog.MutationStatusFailed),
	reflect.TypeFor[projections.MutationOutcome](): enum(projections.OutcomeSuccess, projections.OutcomeFailure, projections.OutcomeSkipped),
	reflect.TypeFor[eventlog.Class](): enum(eventlog.Transient, eventlog.Logic, eventlog.Permission, eventlog.Auth,
		eventlog.Precondition, eventlog.Internal),
	reflect.TypeFor[eventlog.BlockReason](): enum(eventlog.BlockApproval, eventlog.BlockReconcile, eventlog.BlockIndeterminate, eventlog.BlockTransient,
		eventlog.BlockLogic, eventlog.BlockPermission, eventlog.BlockAuth, eventlog.BlockPrecondition, eventlog.BlockInternal,
		eventlog.BlockContradiction, eventlog.BlockLoss),
	reflect.TypeFor[projections.AttentionReason](): enum(projections.AttentionTransient, projections.AttentionDiscarded, AttentionDamage),
	reflect.TypeFor[eventlog.TokenRole]():          enum(eventlog.RoleViewer, eventlog.RoleIngest, eventlog.RoleOperator, eventlog.RoleAdmin),
	reflect.TypeFor[eventlog.Grant]():              enum(eventlog.GrantAllow, eventlog.GrantAsk, eventlog.GrantDeny),
	reflect.TypeFor[connector.Kind]():              enum(connector.List, connector.Get, connector.Mutate),
	reflect.TypeFor[projections.InputStatus]():     enum(projections.InputPending, projections.InputDone, projections.InputSkipped),
	reflect.TypeFor[eventlog.SessionResult]():      enum(eventlog.SessionCompleted, eventlog.SessionFailed),
	reflect.TypeFor[order]():                       enum(oldestFirst, newestFirst),
	reflect.TypeFor[pageLimit]():                   {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(readmodel.MaxLimit))},
	reflect.TypeFor[logLimit]():                    {Type: "integer", Minimum: jsonschema.Ptr(1.0)},
	reflect.TypeFor[ProducerRuns]():                enum(RunsNow, RunsQueued),
	reflect.TypeFor[decide.Resolution]():           enum(decide.DidHappen, decide.DidNotHappen, decide.Skip, decide.TryAgain),
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

// checkPossible says why what has the name is no value that its type can have: by the type's own rule, or
// by the schema that the OpenAPI document shows of it.
func checkPossible(name string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if named, ok := v.Interface().(interface{ Validate() error }); ok {
		if err := named.Validate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	schema := knownSchemas[v.Type()]
	if schema == nil {
		return nil
	}
	if v.CanInt() {
		n := float64(v.Int())
		low, high := schema.Minimum, schema.Maximum
		switch {
		case low != nil && high != nil && (n < *low || n > *high):
			return fmt.Errorf("%s is %v; it must be %v to %v", name, n, *low, *high)
		case low != nil && n < *low:
			return fmt.Errorf("%s is %v; it must be %v or more", name, n, *low)
		}
		return nil
	}
	if len(schema.Enum) == 0 || slices.Contains(schema.Enum, any(v.String())) {
		return nil
	}
	return fmt.Errorf("%s is %q; it must be one of %s", name, clip(v.String()), strings.Join(possible(v.Type()), ", "))
}

// possible are the values of an enumeration.
func possible(t reflect.Type) []string {
	var values []string
	for _, v := range knownSchemas[t].Enum {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

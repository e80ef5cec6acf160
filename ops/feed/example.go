package feed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// The names in the examples of the document.
const (
	exampleWorkflow   = "book-orders"
	exampleRun        = "01JDABCDEFGHJKMNPQRSTVWXYZ"
	exampleTransition = "01JDABCDEFGHJKMNPQRSTVWXZ0"
	exampleTime       = eventlog.Instant(1_766_000_000_000_000)
)

var exampleWriter = newWriter(Config{Prefix: DefaultPrefix, Installation: "01JDABCDEFGHJKMNPQRSTVWXY0",
	MaxData: DefaultMaxData})

// exampleOf are example values by their types.
var exampleOf = map[reflect.Type]any{
	reflect.TypeFor[json.RawMessage]():         json.RawMessage(`{"order":"4711"}`),
	reflect.TypeFor[[]byte]():                  []byte(nil),
	reflect.TypeFor[eventlog.Instant]():        exampleTime,
	reflect.TypeFor[eventlog.WorkflowName]():   eventlog.WorkflowName(exampleWorkflow),
	reflect.TypeFor[eventlog.RunID]():          eventlog.RunID(exampleRun),
	reflect.TypeFor[eventlog.MutationID]():     eventlog.MutationID(exampleRun),
	reflect.TypeFor[eventlog.SessionID]():      eventlog.SessionID("01JDABCDEFGHJKMNPQRSTVWXY1"),
	reflect.TypeFor[eventlog.InputID]():        eventlog.NewInputID("maildir", "mail", "4711"),
	reflect.TypeFor[eventlog.Handler]():        eventlog.Handler("book"),
	reflect.TypeFor[eventlog.HookName]():       eventlog.HookName("shop"),
	reflect.TypeFor[eventlog.Topic]():          eventlog.Topic("orders"),
	reflect.TypeFor[eventlog.MessageID]():      eventlog.MessageID("order-4711"),
	reflect.TypeFor[eventlog.Version]():        eventlog.Version("1.0"),
	reflect.TypeFor[eventlog.Phase]():          eventlog.PhasePreparing,
	reflect.TypeFor[eventlog.RunStatus]():      eventlog.RunStatusFailedLogic,
	reflect.TypeFor[eventlog.HandlerType]():    eventlog.ConsumerHandler,
	reflect.TypeFor[eventlog.EventStatus]():    eventlog.EventStatusSkipped,
	reflect.TypeFor[eventlog.MutationStatus](): eventlog.MutationStatusInFlight,
	reflect.TypeFor[eventlog.Class]():          eventlog.Transient,
	reflect.TypeFor[eventlog.BlockReason]():    eventlog.BlockIndeterminate,
	reflect.TypeFor[eventlog.HeldReason]():     eventlog.HeldPerson,
	reflect.TypeFor[eventlog.Grant]():          eventlog.GrantAsk,
	reflect.TypeFor[eventlog.SessionResult]():  eventlog.SessionCompleted,
}

// exampleNamed are example texts and numbers, by their names in JSON.
var exampleNamed = map[string]any{
	"filename": "orders.ts", "source": "export default Keep.workflow({ … })",
	"sourceHash": strings.Repeat("0f", 32), "paramsHash": strings.Repeat("a7", 32),
	"engine": "01JDABCDEFGHJKMNPQRSTVWXY2", "connector": "http", "operation": "post", "kind": "mutate",
	"uiTitle": "Book order 4711", "title": "Order 4711", "code": "call.timeout", "outcome": "applied",
	"resolvedBy": eventlog.ResolvedByReconcile, "externalId": "4711", "cron": "0 8 * * *", "timezone": "Europe/Berlin",
	"rate": "10/s", "scheme": "github", "hash": "sha256", "encoding": "hex", "format": "unix", "media": jsonType,
	"timeoutMs": int64(30_000), "toleranceMs": int64(300_000), "intervalMs": int64(60_000), "status": 200,
}

// example is a transition with one fact of the type, every field of which is set.
func example(t eventlog.FactType) (eventlog.Record, error) {
	fact := eventlog.NewFact(t)
	if err := fill(reflect.ValueOf(fact).Elem(), ""); err != nil {
		return eventlog.Record{}, err
	}
	return eventlog.Record{Position: eventlog.Position{Seq: 42}, Transition: eventlog.Transition{
		ID: exampleTransition, Workflow: exampleWorkflow, Revision: 17, At: exampleTime, Actor: eventlog.System, Kind: t,
		Facts: []eventlog.Fact{fact},
	}}, nil
}

// fill gives a value to v and to everything in it; name is the name of v in JSON.
func fill(v reflect.Value, name string) error {
	if known, ok := exampleOf[v.Type()]; ok {
		v.Set(reflect.ValueOf(known))
		return nil
	}
	if known, ok := exampleNamed[name]; ok && reflect.TypeOf(known).ConvertibleTo(v.Type()) {
		v.Set(reflect.ValueOf(known).Convert(v.Type()))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(cmp.Or(name, "name"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), name)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		if err := fill(value, name); err != nil {
			return err
		}
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("http.*"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			called, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if called == "-" {
				continue
			}
			if err := fill(v.Field(i), called); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("no example of %s", v.Type())
	}
	return nil
}

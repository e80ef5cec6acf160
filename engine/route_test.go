package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/process"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// fill puts something into every field.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Interface: // the values of a hint
		v.Set(reflect.ValueOf("x"))
	default:
		panic(fmt.Sprintf("nothing is known to put into a %s", v.Type()))
	}
}

// Every command comes to the owner as it was given: with all its fields, and with none.
func TestCommandsTravelWhole(t *testing.T) {
	t.Parallel()
	for name, kind := range commands {
		empty, full := reflect.New(kind), reflect.New(kind)
		fill(full.Elem())
		for _, given := range []reflect.Value{empty, full} {
			cmd := given.Elem().Interface().(decide.Command)
			sent := ownerRequest{Workflow: "w", Operation: "op",
				Actor: eventlog.Actor{Kind: "user", Name: "ann", Verified: true}}
			text, err := sent.encode(cmd)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, arrived, err := decodeOwnerRequest(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(arrived, cmd) {
				t.Errorf("%s arrives as\n%+v, was\n%+v", name, arrived, cmd)
			}
			if got.Workflow != sent.Workflow || got.Actor != sent.Actor || got.Operation != sent.Operation {
				t.Errorf("%s: the request arrives as %+v", name, got)
			}
		}
	}
	if _, err := (ownerRequest{}).encode(decide.Tick{}); !errors.Is(err, process.ErrDefect) {
		t.Errorf("a command of a worker can be sent: %v", err)
	}
	deep := "\x81\xa1x" + strings.Repeat("\x91", 8<<20) // of a field that is not known: more than the stack holds
	long := "\x81\xa4Body\xc6\xff\xff\xff\xff"
	for _, text := range []string{"", "x", "\x81\xa7Command\xa4Tick", deep, long} {
		if _, _, err := decodeOwnerRequest([]byte(text)); err == nil {
			t.Errorf("%.40q is a request", text)
		}
	}
}

// inside are the commands that an engine gives itself, or a person who has stopped it.
var inside = []string{"AcceptLoss", "ConfirmNames", "FailRun", "Recover", "CommitRun", "FinishMutate", "FinishPrepare",
	"ResendMutation", "Restore", "SettleMutation", "Tick"}

// A command that is new comes from inside, or can travel.
func TestEveryCommandIsPlaced(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^func \((?:\w+ )?([A-Z]\w*)\) decide\(`)
	files, err := filepath.Glob("decide/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, travels := commands[m[1]]; travels == slices.Contains(inside, m[1]) {
				t.Errorf("%s: is %s one of the commands that travel, or one from inside?", file, m[1])
			}
		}
	}
	if found != len(commands)+len(inside) {
		t.Errorf("%d commands are declared, %d are placed", found, len(commands)+len(inside))
	}
}

// An owner that does not know what a request needs refuses it: it would record the rest.
func TestAnOwnerRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	e := &Engine{process: &process.Process{Config: Config{Log: memlog.New(memlog.Config{})}}}
	p := &partition{engine: e, process: e.process}
	p.owned.Store(&process.Tenure{})
	newer := ownerRequest{Workflow: "w", Operation: "deploy", Format: eventlog.FormatVersion + 1}
	request, err := newer.encode(decide.Deploy{})
	if err != nil {
		t.Fatal(err)
	}
	r := p.respond(t.Context(), request)
	if err := r.err(); !errors.Is(err, eventlog.ErrHeldFormat) {
		t.Errorf("a request of a newer format: %v", err)
	}
}

// An answer says the same to the asker as it would have said to a caller of the owner.
func TestAnswersTravelWhole(t *testing.T) {
	t.Parallel()
	travel := func(r ownerResponse) (back ownerResponse) {
		text, err := msgpack.Marshal(r)
		if err == nil {
			err = msgpack.Unmarshal(text, &back)
		}
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	for _, kind := range []error{process.ErrNotOwner, process.ErrNoDiskSpace, process.ErrNothingRecorded,
		process.ErrUnknownOutcome, eventlog.ErrTooLarge} {
		if err := travel(errorResponse(fmt.Errorf("record: %w", kind))).err(); !errors.Is(err, kind) {
			t.Errorf("%v arrives as %v", kind, err)
		}
	}
	if err := travel(errorResponse(errors.New("odd"))).err(); err == nil || errors.Is(err, process.ErrUnavailable) {
		t.Errorf("another error arrives as %v", err)
	}
	refusal := &decide.Refusal{Kind: decide.Conflict, Code: "c", Message: "no", Hint: hint.Of(hint.Resume, "w")}
	var got *decide.Refusal
	if err := travel(errorResponse(refusal)).err(); !errors.As(err, &got) || !reflect.DeepEqual(got, refusal) {
		t.Errorf("a refusal arrives as %#v", err)
	}
	full := ownerResponse{}
	fill(reflect.ValueOf(&full.Pushed).Elem())
	fill(reflect.ValueOf(&full.Bulk).Elem())
	fill(reflect.ValueOf(&full.Queued).Elem())
	fill(reflect.ValueOf(&full.Warnings).Elem())
	full.Seq = 9
	if back := travel(full); !reflect.DeepEqual(back, full) || back.err() != nil {
		t.Errorf("a decision arrives as %+v", back)
	}
}

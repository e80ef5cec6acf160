package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/eventlog"
)

// Schemas checks parameters against schemas. It compiles each schema once, by its text: a connector that changes its
// operations is checked against what it says now, and a version against what its deploy has pinned. The zero value is
// ready to use; it is safe for concurrent use.
//
// Locking: mu guards byText.
type Schemas struct {
	mu     sync.Mutex
	byText map[string]compiled
	// accepted is the schema that has accepted parameters which were checked lately.
	accepted ParamsCache[*Schema]
}

// maxCompiled bounds how many schemas are kept: at the bound all of them are dropped.
const maxCompiled = 1024

// compiled is what CompileSchema has answered.
type compiled struct {
	schema *Schema
	err    error
}

// compile is CompileSchema, which takes long, for a text that may have been compiled before.
func (s *Schemas) compile(text json.RawMessage) (*Schema, error) {
	s.mu.Lock()
	kept, known := s.byText[string(text)]
	s.mu.Unlock()
	if known {
		return kept.schema, kept.err
	}
	schema, err := CompileSchema(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byText == nil || len(s.byText) == maxCompiled {
		s.byText = make(map[string]compiled)
	}
	s.byText[string(text)] = compiled{schema, err}
	return schema, err
}

// CheckPinned says why the parameters do not fit the schema that a deploy has pinned, or nil. It is asked before
// anything of a call is recorded as under way (F14). A schema that cannot be used, or not within ctx, refuses nothing:
// the call itself is checked against the live schema again.
func (s *Schemas) CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure {
	schema, err := s.compile(op.Schema)
	if err != nil {
		return nil
	}
	if problems := ParamProblems(nil, s.fits(ctx, schema, params)); problems != nil {
		return Failf(eventlog.Logic, CodeParams, "%s", UnfitParams(op.Connector, op.Operation, problems))
	}
	return nil
}

// check says why the call's parameters do not fit the operation as it is now, or nil.
func (s *Schemas) check(ctx context.Context, call Call, op Operation) *eventlog.Failure {
	schema, err := s.compile(op.Schema)
	if err != nil {
		return Failf(eventlog.Internal, CodeSchema,
			"the parameter schema of %s.%s is unusable, its connector must be corrected: %v",
			call.Connector, call.Operation, err)
	}
	err = s.fits(ctx, schema, call.Params)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotJSON):
		return Failf(eventlog.Logic, CodeParams, "the parameters of %s.%s are %v", call.Connector, call.Operation, err)
	case ctx.Err() != nil, DeadlinePassed(call):
		return MayLeave(ctx, call) // which says why not
	case errors.Is(err, errCostly):
		return Failf(eventlog.Internal, CodeSchema,
			"the parameters of %s.%s cannot be checked: %v; its connector must be corrected", call.Connector,
			call.Operation, err)
	}
	problems := ParamProblems(nil, err)
	if problems == nil {
		return Failf(eventlog.Logic, CodeParams, "the parameters of %s.%s cannot be checked: %v", call.Connector,
			call.Operation, err)
	}
	return Failf(eventlog.Logic, CodeParams, "%s", UnfitParams(call.Connector, call.Operation, problems))
}

// errNotJSON marks parameters that are not JSON. Its text completes "the parameters of X are …".
var errNotJSON = errors.New("not JSON")

// fits is Validate for a value that is not decoded yet. Each call is checked when it is recorded and once more before
// it leaves, mostly against the same schema, so what this schema has accepted lately is not checked again.
func (s *Schemas) fits(ctx context.Context, schema *Schema, params json.RawMessage) error {
	if by, _ := s.accepted.Get(params); by == schema {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return fmt.Errorf("%w: %w", errNotJSON, err)
	}
	if err := schema.Validate(ctx, value); err != nil {
		return err
	}
	s.accepted.Put(params, schema)
	return nil
}

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

// CheckPinned says why the parameters do not fit the schema that a deploy has pinned, or nil. It is asked before
// anything of a call is recorded as under way (F14). A schema that cannot be used, or not within ctx, refuses nothing:
// the Registry checks every call against the live schema again.
func CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure {
	schema, err := compiledOnce(op.Schema)
	if err != nil {
		return nil
	}
	if problems := ParamProblems(nil, schema.fits(ctx, params)); problems != nil {
		return Failf(eventlog.Logic, CodeParams, "%s", UnfitParams(op.Connector, op.Operation, problems))
	}
	return nil
}

// checkParams says why the parameters do not fit the operation as it is now, or nil.
func checkParams(ctx context.Context, call Call, op Operation) *eventlog.Failure {
	schema, err := compiledOnce(op.Schema)
	if err != nil {
		return Failf(eventlog.Internal, CodeSchema,
			"the parameter schema of %s.%s is unusable, its connector must be corrected: %v",
			call.Connector, call.Operation, err)
	}
	err = schema.fits(ctx, call.Params)
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

// errNotJSON marks parameters that are not JSON.
var errNotJSON = errors.New("not JSON")

// fits is Validate for a value that is not decoded yet. What has fitted lately is not checked again: each call is
// checked when it is recorded and once more before it leaves, mostly against the same schema.
func (s *Schema) fits(ctx context.Context, params json.RawMessage) error {
	if _, checked := s.fitted.Get(params); checked {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return fmt.Errorf("%w: %w", errNotJSON, err)
	}
	if err := s.Validate(ctx, value); err != nil {
		return err
	}
	s.fitted.Put(params, struct{}{})
	return nil
}

// maxCompiled bounds how many schemas compiledOnce keeps; the next one replaces them all.
const maxCompiled = 1024

// compiledSchemas are those of compiledOnce, by their text: a connector that changes its operations is checked against
// what it says now, and a version against what its deploy has pinned.
//
// Locking: mu guards of.
var compiledSchemas = struct {
	mu sync.Mutex
	of map[string]compiled
}{of: make(map[string]compiled)}

// compiled is what CompileSchema has answered.
type compiled struct {
	schema *Schema
	err    error
}

// compiledOnce is CompileSchema, which takes long, for a text that may have been compiled before.
func compiledOnce(text json.RawMessage) (*Schema, error) {
	compiledSchemas.mu.Lock()
	kept, known := compiledSchemas.of[string(text)]
	compiledSchemas.mu.Unlock()
	if known {
		return kept.schema, kept.err
	}
	schema, err := CompileSchema(text)
	compiledSchemas.mu.Lock()
	defer compiledSchemas.mu.Unlock()
	if len(compiledSchemas.of) == maxCompiled {
		clear(compiledSchemas.of)
	}
	compiledSchemas.of[string(text)] = compiled{schema, err}
	return schema, err
}

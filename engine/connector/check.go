package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/eventlog"
)

// Schemas checks parameters against schemas, each of which it compiles once. The zero value is ready to use; it is safe
// for concurrent use.
//
// Locking: mu guards compiled.
type Schemas struct {
	mu sync.Mutex
	// compiled has, of each operation, the texts that were used last, the last one first.
	compiled map[operationName][]compiled
	// accepted is the schema that has accepted parameters which were checked lately.
	accepted ParamsCache[*Schema]
}

// operationName names one operation of one connector.
type operationName struct{ connector, operation string }

// maxTexts is how many texts are kept of one operation's schema: what the operation says now, and what versions have
// pinned that were deployed before it changed. Compiled, a schema takes about 65 times as much memory as its text.
const maxTexts = 4

// compiled is what CompileSchema has answered for the text.
type compiled struct {
	text   json.RawMessage
	schema *Schema
	err    error
}

// compile is CompileSchema, which takes long, for a text that may have been compiled before.
func (s *Schemas) compile(of operationName, text json.RawMessage) (*Schema, error) {
	if len(text) > maxSchemaBytes {
		return CompileSchema(text) // which refuses it
	}
	if c, known := s.known(of, text); known {
		return c.schema, c.err
	}
	schema, err := CompileSchema(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiled == nil {
		s.compiled = make(map[operationName][]compiled)
	}
	texts := slices.Insert(s.compiled[of], 0, compiled{bytes.Clone(text), schema, err})
	s.compiled[of] = slices.Delete(texts, min(len(texts), maxTexts), len(texts))
	return schema, err
}

// known finds what was answered for the text, and moves it to the front.
func (s *Schemas) known(of operationName, text json.RawMessage) (c compiled, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.compiled[of]
	i := slices.IndexFunc(texts, func(c compiled) bool { return bytes.Equal(c.text, text) })
	if i < 0 {
		return c, false
	}
	c = texts[i]
	copy(texts[1:i+1], texts[:i])
	texts[0] = c
	return c, true
}

// CheckPinned says why the parameters do not fit the schema that a deploy has pinned, or nil. It is asked before
// anything of a call is recorded as under way (F14). A schema that cannot be used, or not within ctx, refuses nothing:
// the call itself is checked against the live schema again.
func (s *Schemas) CheckPinned(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure {
	schema, err := s.compile(operationName{op.Connector, op.Operation}, op.Schema)
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
	schema, err := s.compile(operationName{call.Connector, call.Operation}, op.Schema)
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

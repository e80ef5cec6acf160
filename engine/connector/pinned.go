package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/eventlog"
)

// Pinned checks parameters against the schemas that deploys have pinned, before anything of a call is recorded as under
// way (F14). The zero value is ready to use; it is safe for concurrent use.
type Pinned struct {
	schemas sync.Map // *compiled by the hash of the schema's text
}

// Check says why the parameters do not fit the pinned schema, or nil. A schema that cannot be used, or not
// within ctx, refuses nothing: the Registry checks every call against the live schema again.
func (p *Pinned) Check(ctx context.Context, op eventlog.Operation, params json.RawMessage) *eventlog.Failure {
	key := eventlog.HashOf(op.Schema)
	kept, ok := p.schemas.Load(key)
	if !ok {
		schema, err := CompileSchema(op.Schema)
		kept, _ = p.schemas.LoadOrStore(key, &compiled{schema: schema, err: err})
	}
	c := kept.(*compiled)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if c.err != nil || err != nil {
		return nil
	}
	if problems := ParamProblems(nil, c.schema.Validate(ctx, value)); problems != nil {
		return Failf(eventlog.Logic, CodeParams, "%s", UnfitParams(op.Connector, op.Operation, problems))
	}
	return nil
}

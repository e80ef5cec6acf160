package natsservice

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// The metadata of endpoints that describe an operation.
const (
	metaPrefix    = "pawl."
	metaKind      = "pawl.kind"
	metaReconcile = "pawl.reconcile"
	metaTimeout   = "pawl.timeout"
	metaSchema    = "pawl.schema"
	metaResult    = "pawl.result"
	metaSummary   = "pawl.summary"
)

// kindReconcile is the kind of endpoints that scripts cannot call.
const kindReconcile connector.Kind = "reconcile"

// maxTimeout bounds pawl.timeout: a workflow waits that long for a tool that hangs.
const maxTimeout = time.Hour

// endpoint is one operation as a service describes it, or one of kind reconcile.
type endpoint struct {
	operation connector.Operation
	subject   string
	queue     string
	// asks is the name of the reconcile endpoint, reconcile its subject; empty without one.
	asks, reconcile string
	resultSchema    string
	// result is nil when the service declares no schema for it.
	result *connector.Schema
}

// same says whether two instances describe the endpoint alike.
func (e endpoint) same(other endpoint) (what string, same bool) {
	a, b := e.operation, other.operation
	switch {
	case a.Kind != b.Kind:
		return metaKind, false
	case e.asks != other.asks:
		return metaReconcile, false
	case a.Timeout != b.Timeout:
		return metaTimeout, false
	case string(a.Schema) != string(b.Schema):
		return metaSchema, false
	case e.resultSchema != other.resultSchema:
		return metaResult, false
	case e.subject != other.subject:
		return "the subject", false
	case e.queue != other.queue:
		return "the queue group", false
	}
	return "", true
}

// readEndpoint reads what an instance says about one of its endpoints. group is the subject its
// endpoints are in.
func readEndpoint(info micro.EndpointInfo, group string) (endpoint, error) {
	e := endpoint{subject: info.Subject, queue: info.QueueGroup, asks: info.Metadata[metaReconcile],
		resultSchema: info.Metadata[metaResult]}
	e.operation = connector.Operation{
		Name: info.Name, Kind: connector.Kind(info.Metadata[metaKind]),
		Reconciles: e.asks != "", Summary: info.Metadata[metaSummary],
	}
	if err := eventlog.ValidateConnectorName(info.Name); err != nil {
		return e, fmt.Errorf("its name %w", err)
	}
	if want := group + "." + info.Name; info.Subject != want {
		return e, fmt.Errorf("it listens on %q, not on %s: add it to the group %s", info.Subject, want, group)
	}
	switch e.operation.Kind {
	case connector.List, connector.Get, kindReconcile:
		if e.asks != "" {
			return e, fmt.Errorf("it is of kind %s and has %s, which only a mutation may have", e.operation.Kind,
				metaReconcile)
		}
	case connector.Mutate:
		if e.queue == "" {
			return e, fmt.Errorf("it is a mutation without a queue group: two instances would both get one request")
		}
	default:
		return e, fmt.Errorf("its %s is %q, want list, get, mutate or reconcile", metaKind, string(e.operation.Kind))
	}
	if text := info.Metadata[metaTimeout]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Millisecond || d > maxTimeout {
			return e, fmt.Errorf("its %s is %q, want a duration from 1ms to 1h, e.g. 30s", metaTimeout, text)
		}
		e.operation.Timeout = d
	}
	if text := info.Metadata[metaSchema]; text != "" {
		e.operation.Schema = json.RawMessage(text)
		if _, err := connector.CompileSchema(e.operation.Schema); err != nil {
			return e, fmt.Errorf("its %s is unusable: %w", metaSchema, err)
		}
	}
	if e.resultSchema != "" {
		schema, err := connector.CompileSchema(json.RawMessage(e.resultSchema))
		if err != nil {
			return e, fmt.Errorf("its %s is unusable: %w", metaResult, err)
		}
		e.result, e.operation.Result = schema, json.RawMessage(e.resultSchema)
	}
	return e, nil
}

// meant says whether an endpoint was meant as an operation: other endpoints of a service are its
// own business.
func meant(info micro.EndpointInfo, tools string) bool {
	if strings.HasPrefix(info.Subject, tools+".") {
		return true
	}
	for key := range info.Metadata {
		if strings.HasPrefix(key, metaPrefix) {
			return true
		}
	}
	return false
}

// overlap says whether some subject matches both patterns.
func overlap(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(as) && i < len(bs); i++ {
		if as[i] == ">" || bs[i] == ">" {
			return true
		}
		if as[i] != bs[i] && as[i] != "*" && bs[i] != "*" {
			return false
		}
	}
	return len(as) == len(bs)
}

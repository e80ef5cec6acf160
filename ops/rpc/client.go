package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
)

// Client calls the operations of an engine, over HTTP or over NATS. A Client needs a URL or NATS only.
// It is safe for concurrent use once its fields are set.
type Client struct {
	// Operations are the operations that can be called: the table of ops. Required.
	Operations Table
	// URL of the engine, e.g. http://127.0.0.1:7070.
	URL string
	// Token is sent as a bearer token unless empty; never unencrypted to another machine.
	Token string
	// Actor is the name the transitions will carry where no token gives one.
	Actor string
	// HTTP is a client without redirects and without a time limit when nil: contexts bound calls.
	HTTP *http.Client
	// NATS, when set, takes the place of URL, Token and HTTP.
	NATS *NATSLine
}

// transport carries calls to an engine. It fails with the errors of Do.
type transport interface {
	// call returns the answer's status and JSON.
	call(ctx context.Context, o *Operation, fields map[string]json.RawMessage) (status int, answer []byte, err error)
	// log yields what Client.Log yields.
	log(ctx context.Context, o *Operation, fields map[string]json.RawMessage, follow bool,
		yield func(json.RawMessage, error) bool)
}

func (c *Client) transport() transport {
	if c.NATS != nil {
		return overNATS{c.NATS, c.Actor, c.Token}
	}
	return (*overHTTP)(c)
}

// Do calls the operation with its path, query and body fields, given as a map or a struct that
// encodes to one JSON object (nil for none), and decodes the answer into out (nil drops it). Errors:
// *Problem as the engine answered it, ErrUnreachable, ErrUntrusted, ErrTokenInClear, the context's; any other
// error is a misuse.
func (c *Client) Do(ctx context.Context, operationID string, params, out any) error {
	_, err := c.DoStatus(ctx, operationID, params, out)
	return err
}

// DoStatus is Do that also returns the answer's status.
func (c *Client) DoStatus(ctx context.Context, operationID string, params, out any) (int, error) {
	o, fields, err := c.prepare(operationID, params)
	if err != nil {
		return 0, err
	}
	status, answer, err := c.transport().call(ctx, o, fields)
	if err != nil || out == nil {
		return status, err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return status, fmt.Errorf("read the answer to %s: %w", operationID, err)
	}
	return status, nil
}

// LogQuery says which part of the log is read.
type LogQuery struct {
	// From is the first position; empty is the beginning.
	From string `json:"from,omitempty"`
	// Workflow is the one whose transitions are read; empty is all.
	Workflow string `json:"workflow,omitempty"`
	// Type is a list of types of facts, separated by commas. A transition must hold a fact of one of them; empty is
	// any.
	Type string `json:"type,omitempty"`
	// Tail, unless 0, is how many of the existing transitions are read: the newest.
	Tail int `json:"tail,omitempty"`
	// Follow goes on with new transitions.
	Follow bool `json:"follow,omitempty"`
}

// Log yields transitions; with Follow it goes on until ctx ends. A record that cannot be read is
// yielded as a *Problem, and over HTTP the next one comes after it; any other error is the last thing
// yielded: go on from the position after the last transition. It fails with the errors of Do.
func (c *Client) Log(ctx context.Context, query LogQuery) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		o, fields, err := c.prepare("readLog", query)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // a reader that stops early ends the request
		c.transport().log(ctx, o, fields, query.Follow, yield)
	}
}

// prepare looks the operation up, and checks that it has these fields and that every field of its path is given.
func (c *Client) prepare(operationID string, params any) (*Operation, map[string]json.RawMessage, error) {
	misuse := func(format string, args ...any) (*Operation, map[string]json.RawMessage, error) {
		return nil, nil, fmt.Errorf("call "+operationID+": "+format, args...)
	}
	o := c.Operations.Lookup(operationID)
	if o == nil {
		return misuse("there is no such operation")
	}
	fields := map[string]json.RawMessage{}
	if params != nil {
		encoded, err := json.Marshal(params)
		if err != nil {
			return misuse("encode the parameters: %w", err)
		}
		if err := json.Unmarshal(encoded, &fields); err != nil {
			return misuse("the parameters are no object: %w", err)
		}
	}
	for name := range fields {
		if o.Request.field(name) == nil {
			return misuse("it has no parameter %s", name)
		}
	}
	for _, f := range o.Request.fields {
		if given := fields[f.name]; f.in == inPath && (given == nil || string(given) == "null") {
			return misuse("%s is not complete: parameter %s is missing", o.Path, f.name)
		}
	}
	return o, fields, nil
}
